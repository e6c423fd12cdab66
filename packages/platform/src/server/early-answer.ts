import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { ClientRequest } from '../limits/client.js';
import { BodyChunks } from '../requests/body-chunks.js';

/** How much of an unread body is read and discarded after an early answer, in bytes. */
export const DISCARD_LIMIT = 8 * 1024 * 1024;
/** How long reading and discarding it may take, in milliseconds. */
export const DISCARD_MS = 5_000;
/** How long input that cannot be parsed is discarded at most, in milliseconds. */
const LINGER_MS = 2_000;
/** A client that sends nothing for this time, in milliseconds, has stopped sending such input. */
const PAUSE_MS = 100;

type CountedRequest = IncomingMessage & ClientRequest;

/**
 * Whether a part of the body of a request is still to come. Node marks a request as complete only
 * after its headers were handled, even if it has no body (RFC 9112 section 6.3).
 */
export function isBodyIncomplete({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/**
 * Writes the last bytes of an answer, and its headers unless they are sent. The client can read the
 * answer, but its connection stays open.
 */
export function writeLast(
  response: ServerResponse,
  data: string | Uint8Array | undefined,
  encoding: BufferEncoding | undefined,
): void {
  if (!response.headersSent) setLength(response, data, encoding);
  if (data === undefined) response.flushHeaders();
  else response.write(data, encoding ?? 'utf8');
}

/**
 * Reads and discards the rest of a body, up to a limit, or until the client has left. A client that
 * is still sending would lose its answer if the connection closed at once (RFC 9112 section 9.6).
 */
export async function discardRest(req: CountedRequest): Promise<void> {
  if (req.state.bodyError === undefined) await discardBody(req);
  // Also if the body has become malformed in the meantime.
  if (req.state.bodyError !== undefined) await discardInput(req.socket);
}

/** Without the length of its body, a client would wait for the end of the connection. */
function setLength(
  response: ServerResponse,
  data: string | Uint8Array = '',
  encoding: BufferEncoding | undefined,
): void {
  const { statusCode } = response;
  const mayHaveBody = statusCode !== 204 && statusCode !== 304 && response.req.method !== 'HEAD';
  if (!mayHaveBody || response.hasHeader('Content-Length')) return;
  const length = typeof data === 'string' ? Buffer.byteLength(data, encoding) : data.length;
  response.setHeader('Content-Length', length);
}

async function discardBody(req: CountedRequest): Promise<void> {
  let left = DISCARD_LIMIT;
  try {
    const end = performance.now() + DISCARD_MS;
    for await (const { length } of new BodyChunks(req, DISCARD_MS, end)) {
      left -= length;
      if (left < 0) return;
    }
  } catch {
    // The time is over, the client has left, or the rest of the body is malformed.
  }
}

/** Discards input that cannot be parsed, until the client pauses. */
async function discardInput(socket: Socket): Promise<void> {
  const end = performance.now() + LINGER_MS;
  let before: number;
  // It may be paused in this turn of the event loop.
  await nextTurn();
  socket.resume();
  do {
    if (socket.readableEnded || socket.destroyed) return;
    before = socket.bytesRead;
    await sleep(PAUSE_MS);
  } while (socket.bytesRead > before && performance.now() < end);
}
