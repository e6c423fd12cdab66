import { StreamableFile } from '@nestjs/common';
import type { Response } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { StoreOverloadedError } from 'durable-store';
import { ApiError } from '../errors/api-error.js';
import { type ClientRequest, getClient } from '../limits/client.js';

type Description = Partial<ReturnType<StreamableFile['getHeaders']>>;

/**
 * An answer that is generated while it is sent. Each piece is requested when the client has taken
 * the one before.
 */
export class GeneratedAnswer extends StreamableFile {
  /** @param description its media type, and how many bytes it has, if known */
  constructor(
    readonly pieces: AsyncIterable<string | Uint8Array>,
    readonly description: Description,
  ) {
    // Interceptors know by its class that it is not JSON. The stream of a file would read ahead.
    super(NO_STREAM);
  }
}

const NO_STREAM = new Uint8Array();

/**
 * Answers with a stream, which is read only as fast as the client reads. An error before the first
 * byte is thrown. A later error closes the connection, so that a truncated answer never looks
 * complete.
 *
 * @param onBroken gets the error of an answer that has begun
 */
export async function sendStream(
  response: Response,
  body: StreamableFile,
  onBroken: (error: unknown) => void,
): Promise<void> {
  const isGenerated = body instanceof GeneratedAnswer;
  const source = isGenerated ? body.pieces : body.getStream();
  const description = isGenerated ? body.description : body.getHeaders();
  const pieces = source[Symbol.asyncIterator]() as AsyncIterator<string | Uint8Array>;
  const writer = new PieceWriter(response, description);
  try {
    while (await writer.writeNext(pieces));
    response.end();
  } catch (error) {
    if (!response.headersSent) throw error;
    // Under overload every stream may fail with 503, which needs no log line.
    if (!response.closed && !isOverload(error)) onBroken(error);
    resetConnection(response);
  } finally {
    await pieces.return?.();
  }
}

function isOverload(error: unknown): boolean {
  return error instanceof ApiError || error instanceof StoreOverloadedError;
}

const NOTHING = new Uint8Array();

/** Writes the pieces of a stream, and the headers of the answer before the first one. */
class PieceWriter {
  /** How many bytes were written. */
  private sent = 0;
  private wake = (): void => undefined;

  constructor(
    private readonly response: Response,
    private readonly description: Description,
  ) {
    const wake = (): void => this.wake();
    response.on('drain', wake).on('close', wake);
  }

  /**
   * Writes the next piece, and waits until it is taken. The piece is a variable here, since
   * sendStream() would keep it in memory while it waits for the next one.
   *
   * @returns false at the end
   * @throws RangeError for another length than the headers say
   */
  async writeNext(pieces: AsyncIterator<string | Uint8Array>): Promise<boolean> {
    const { response, description } = this;
    const next = await pieces.next();
    const isOver = next.done === true;
    const bytes = isOver ? NOTHING : toBytes(next.value);
    const isWithoutBody = response.req.method === 'HEAD' || response.closed;
    this.sent += bytes.length;
    if (!isWithoutBody) this.checkLength(isOver);
    if (!response.headersSent) setHeaders(response, description);
    if (isOver || isWithoutBody) return false;
    // The response does not know of the buffer of a middleware such as `compression`.
    const isTaken = response.write(bytes);
    if (!isTaken) await new Promise<void>((resolve) => (this.wake = resolve));
    return true;
  }

  /**
   * What is too much would be read as the beginning of the next answer, and for what is missing the
   * client would wait.
   */
  private checkLength(isOver: boolean): void {
    const { response, description, sent } = this;
    const length = response.getHeader('Content-Length') ?? description.length;
    if (length === undefined) return;
    const isWrong = isOver ? sent !== Number(length) : sent > Number(length);
    if (isWrong)
      throw new RangeError(`The stream has ${sent} bytes or more, not ${Number(length)}`);
  }
}

/** Node would count the characters of a text, and not its bytes. */
function toBytes(piece: string | Uint8Array): Uint8Array {
  return typeof piece === 'string' ? Buffer.from(piece) : piece;
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

/**
 * Counts the bytes of an answer that its client has not taken. Must be called whenever some were
 * written. Beyond the limit, a client that takes nothing loses its connection.
 */
export function countUnsent(response: ServerResponse<IncomingMessage & ClientRequest>): void {
  const { req, writableLength } = response;
  const { state } = req;
  if (state.unsent === undefined) {
    // The system takes most answers at once.
    if (writableLength === 0 || response.closed) return;
    const unsent = state.limits.memory.hold(getClient(req), () => resetConnection(response));
    response.once('close', () => unsent.end());
    state.unsent = unsent;
  }
  state.unsent.update(response.closed ? 0 : writableLength);
}

/**
 * Closes the connection of an answer that must not look complete. An answer over HTTP/1.0 may end
 * only with its connection, so the connection is reset.
 */
export function resetConnection(response: ServerResponse): void {
  const { socket } = response;
  // The system cannot reset a connection whose end is being sent.
  if (socket?.writable === true) socket.resetAndDestroy();
  response.destroy();
}
