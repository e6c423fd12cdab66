/** How long a write may wait until it is answered, with 503 if need be, in milliseconds. */
export const WRITE_TIMEOUT_MS = 5_000;
