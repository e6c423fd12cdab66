/** How long it may take to connect, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 2_000;

/** After this time the server gives a statement up, in milliseconds. */
export const STATEMENT_TIMEOUT_MS = 4_000;

/** After this time nobody waits for the server's answer any more, in milliseconds. */
export const QUERY_TIMEOUT_MS = 4_500;
