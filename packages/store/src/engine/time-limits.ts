// The times of a store that depend on each other, in milliseconds. All follow from the first one, and
// time-limits.spec.ts has their order.

/**
 * How long a caller waits for the store, or for its turn to use it: 5,000 milliseconds.
 *
 * @example
 * ```ts
 * const signal = AbortSignal.timeout(WAIT_TIMEOUT_MS);
 * ```
 */
export const WAIT_TIMEOUT_MS = 5_000;

/**
 * The longest expected wait: an item that would wait longer is refused at once. One that takes a
 * little longer than expected is still answered.
 */
export const MAX_EXPECTED_MS = (WAIT_TIMEOUT_MS * 4) / 5;

/** How often a queue looks for items that have waited too long. */
export const EXPIRY_CHECK_MS = WAIT_TIMEOUT_MS / 20;

/** After this time a server aborts a statement, whose caller still waits. */
export const STATEMENT_TIMEOUT_MS = (WAIT_TIMEOUT_MS * 4) / 5;

/** How much longer than a time limit of a server the program waits for the server's answer. */
export const ANSWER_MARGIN_MS = WAIT_TIMEOUT_MS / 10;

/**
 * How long a batch waits for the answer of a server. The server aborts a statement before, unless
 * the connection is dead.
 */
export const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + ANSWER_MARGIN_MS;

/** How long it may take to connect to a server. */
export const CONNECT_TIMEOUT_MS = (WAIT_TIMEOUT_MS * 2) / 5;

/**
 * After this time a server ends the transaction of a batch, and frees the rows that it has locked.
 * By then no caller waits for the batch.
 */
export const BATCH_TIMEOUT_MS = 2 * WAIT_TIMEOUT_MS;

/**
 * How long a migration waits for the lock of a table. All other statements on the table wait behind
 * it.
 */
export const TABLE_LOCK_TIMEOUT_MS = WAIT_TIMEOUT_MS / 100;

/** How long a statement waits for another process that has locked the file, such as a backup. */
export const FILE_LOCK_TIMEOUT_MS = (WAIT_TIMEOUT_MS * 2) / 5;

/** How long new reads of modules wait for an instant at which the write-ahead log can be emptied. */
export const MAX_PAUSE_MS = (WAIT_TIMEOUT_MS * 4) / 5;

/** How long emptying the log may then keep writers waiting. */
export const MAX_STALL_MS = WAIT_TIMEOUT_MS / 25;
