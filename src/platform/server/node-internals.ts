import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

// This file depends on internals of Node's HTTP server. The test beside it names each that a version
// of Node has changed.

/** How often Node checks its time limits, in milliseconds. */
const TIME_CHECK_MS = 1_000;

/** Sets properties that Node documents as options of `createServer()` only, or not at all. */
export function configureNode(server: Server): void {
  Object.assign(server, {
    connectionsCheckingInterval: TIME_CHECK_MS,
    // The middleware answers to a missing Host header.
    requireHostHeader: false,
    // A client that ends its side of the connection after its requests gets their answers.
    httpAllowHalfOpen: true,
  });
}

/** Stops listening; the server's own `close()` would also close idle connections, at once. */
export async function stopListening(server: Server): Promise<void> {
  await new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
}

/** Counts the bytes that the system has taken over from the server on a connection. */
export function countSentBytes(socket: Socket): number {
  const { _handle: handle } = socket as unknown as {
    readonly _handle: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
  };
  return handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}
