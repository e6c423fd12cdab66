import type { Server } from 'node:http';

/** How often Node compares its time limits with the clock, in milliseconds. */
const TIME_CHECK_MS = 1_000;

/**
 * Sets what Node documents as options of `createServer()` only, which Nest calls without any, or not
 * at all. This is all that leans on the inside of Node's HTTP; a test beside it says what an upgrade broke.
 */
export function configureNode(server: Server): void {
  Object.assign(server, {
    connectionsCheckingInterval: TIME_CHECK_MS,
    // The middleware answers to a missing Host header.
    requireHostHeader: false,
    // A client that has sent all it wants to send may end its side, and still gets its answers.
    httpAllowHalfOpen: true,
  });
}
