/** How long it may take to connect, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 2_000;

/** After this time the server gives a statement up, in milliseconds. */
export const STATEMENT_TIMEOUT_MS = 4_000;

/** How long after that its answer is still waited for, in milliseconds. */
export const ANSWER_MARGIN_MS = 500;

/** How long a row in a group may wait for another session's lock, before it fails alone, in milliseconds. */
export const LOCK_TIMEOUT_MS = 100;
