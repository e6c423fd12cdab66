import { StreamableFile } from '@nestjs/common';
import type { Response } from 'express';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { getClient } from '../limits/client.js';
import { clientMemory, type Holding } from '../limits/fair-share.js';

type Description = Partial<ReturnType<StreamableFile['getHeaders']>>;

/**
 * An answer that is generated while it is sent. Each piece is requested when the client has taken
 * the one before.
 */
export class GeneratedAnswer {
  /** @param description its media type, and how many bytes it has, if known */
  constructor(
    readonly pieces: AsyncIterable<string | Uint8Array>,
    readonly description: Description,
  ) {}
}

/**
 * Answers with a stream, which is read only as fast as the client reads. An error before the first
 * byte is thrown. A later error closes the connection, so that a truncated answer never looks
 * complete.
 *
 * @param onBroken gets the error of an answer that has begun
 */
export async function sendStream(
  response: Response,
  body: GeneratedAnswer | StreamableFile,
  onBroken: (error: unknown) => void,
): Promise<void> {
  const isFile = body instanceof StreamableFile;
  const source = isFile ? body.getStream() : body.pieces;
  const description = isFile ? body.getHeaders() : body.description;
  const pieces = source[Symbol.asyncIterator]() as AsyncIterator<string | Uint8Array>;
  try {
    while (await writeNext(response, description, pieces)) {
      countUnsent(response);
      if (response.writableNeedDrain) await waitForDrain(response);
      countUnsent(response);
    }
    response.end();
  } catch (error) {
    if (!response.headersSent) throw error;
    // Under overload every stream may fail with 503, which needs no log line.
    if (!response.closed && !(error instanceof ApiError)) onBroken(error);
    breakOff(response);
  } finally {
    await pieces.return?.();
  }
}

/**
 * Writes the next piece, and returns whether there may be another one. A variable of sendStream()
 * would keep the piece in memory while it waits for the next one.
 */
async function writeNext(
  response: Response,
  description: Description,
  pieces: AsyncIterator<string | Uint8Array>,
): Promise<boolean> {
  const piece = await pieces.next();
  if (!response.headersSent) setHeaders(response, description);
  if (piece.done === true || response.req.method === 'HEAD' || response.closed) return false;
  // Node would count the characters of a text, and not its bytes.
  response.write(typeof piece.value === 'string' ? Buffer.from(piece.value) : piece.value);
  return true;
}

function setHeaders(response: Response, { type, disposition, length }: Description): void {
  // nginx would buffer what is generated only as fast as the client reads.
  if (length === undefined) response.setHeader('X-Accel-Buffering', 'no');
  const headers = {
    'Content-Type': type,
    'Content-Disposition': disposition,
    'Content-Length': length,
  };
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !response.hasHeader(name)) response.setHeader(name, value);
  }
}

/** Resolves when the client has taken the written data, or has disconnected. */
async function waitForDrain(response: Response): Promise<void> {
  if (response.closed) return;
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  waiting.abort();
}

const holdings = new WeakMap<ServerResponse, Holding>();

/**
 * Counts the bytes of an answer that its client has not taken. Must be called whenever some were
 * written or taken. Beyond the limit, a client that takes nothing loses its connection.
 */
export function countUnsent(response: ServerResponse): void {
  const { req, writableLength } = response;
  const known = holdings.get(response);
  // The system takes most answers at once.
  if (known === undefined && (writableLength === 0 || response.closed)) return;
  const holding = known ?? clientMemory.hold(getClient(req), () => breakOff(response));
  if (known === undefined) {
    holdings.set(response, holding);
    response.once('close', () => holding.end());
  }
  holding.update(response.closed ? 0 : writableLength);
}

/**
 * Closes the connection of an answer that must not look complete. An answer over HTTP/1.0 may have
 * no other end than that of its connection, so the connection is reset.
 */
export function breakOff(response: ServerResponse): void {
  const { socket } = response;
  // The system cannot reset a connection whose end is being sent.
  if (socket?.writable === true) socket.resetAndDestroy();
  response.destroy();
}
