/** How long a create may wait until it is answered, with 503 if need be, in milliseconds. */
export const CREATE_TIMEOUT = 5_000;

/** How long one statement waits for a lock that another process holds in SQLite, in milliseconds. */
export const BUSY_TIMEOUT = 2_000;

/** How long it may take to connect to PostgreSQL, in milliseconds. */
export const CONNECT_TIMEOUT = 2_000;

/** After this time PostgreSQL gives a statement up, in milliseconds. */
export const STATEMENT_TIMEOUT = 4_000;

/** After this time nobody waits for PostgreSQL's answer any more, in milliseconds. */
export const QUERY_TIMEOUT = 4_500;
