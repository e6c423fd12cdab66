import type { Server } from 'node:http';

/** How often Node checks its time limits, in milliseconds. */
const TIME_CHECK_MS = 1_000;

/**
 * Sets properties that Node documents as options of `createServer()` only, or not at all. Nothing
 * else depends on the internals of Node's HTTP server; the test beside this file fails for each
 * property that a version of Node ignores.
 */
export function configureNode(server: Server): void {
  Object.assign(server, {
    connectionsCheckingInterval: TIME_CHECK_MS,
    // The middleware answers to a missing Host header.
    requireHostHeader: false,
    // A client that ends its side of the connection after its requests gets their answers.
    httpAllowHalfOpen: true,
  });
}
