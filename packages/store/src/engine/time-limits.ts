/** How long a caller waits for the store, or for its turn to use it, in milliseconds. */
export const WAIT_TIMEOUT_MS = 5_000;
