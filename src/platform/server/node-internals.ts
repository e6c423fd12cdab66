import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

// This file depends on internals of Node's HTTP server. node-internals.spec.ts fails if a version
// of Node changes them.

/** How often Node checks its time limits, in milliseconds. */
const TIME_CHECK_MS = 1_000;

/** Sets properties that Node documents only as options of `createServer()`, or not at all. */
export function configureNode(server: Server): void {
  Object.assign(server, {
    connectionsCheckingInterval: TIME_CHECK_MS,
    // The middleware checks the Host header.
    requireHostHeader: false,
    // Clients that end their side of the connection still get their answers.
    httpAllowHalfOpen: true,
  });
}

/** Stops listening. The server's own `close()` would also close idle connections at once. */
export async function stopListening(server: Server): Promise<void> {
  await new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
}

interface WriteHandle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

function getHandle(socket: Socket): WriteHandle | null {
  return (socket as unknown as { readonly _handle: WriteHandle | null })._handle;
}

/** Counts the bytes that the server has passed to the operating system on a connection. */
export function countSentBytes(socket: Socket): number {
  const handle = getHandle(socket);
  return handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}

/** Counts the bytes of an answer that Node has encoded, and the operating system has not taken. */
export function countQueuedBytes(socket: Socket): number {
  return getHandle(socket)?.writeQueueSize ?? 0;
}

/**
 * Closes a connection from within its parser, which then skips the chunks of a body that were read
 * together with the last one.
 */
export function destroyUnparsed(socket: Socket): void {
  const { parser } = socket as { parser?: Record<string, unknown> | null };
  const onBody = Object.entries(parser ?? {}).find(
    ([, member]) => typeof member === 'function' && member.name === 'parserOnBody',
  );
  if (parser && onBody) {
    const [key, handler] = onBody;
    parser[key] = undefined;
    // Node uses the parser again for another connection.
    setImmediate(() => (parser[key] = handler));
  }
  socket.destroy();
}
