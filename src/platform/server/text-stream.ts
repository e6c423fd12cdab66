import type { Response } from 'express';
import { once } from 'node:events';

/** Text that is made while it is sent. */
export class TextStream {
  /** @param pieces are asked for only when the client has taken those before */
  constructor(
    readonly mediaType: string,
    readonly pieces: AsyncIterable<string>,
  ) {}
}

/**
 * Answers with a stream. An error before the first byte is thrown. An error after it breaks the
 * connection, so that a truncated answer never looks complete.
 *
 * @param onBroken gets the error of an answer that has begun
 */
export async function sendStream(
  response: Response,
  { mediaType, pieces }: TextStream,
  onBroken: (error: unknown) => void,
): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]();
  let piece = await iterator.next();
  response.setHeader('Content-Type', mediaType);
  if (response.req.method === 'HEAD') {
    await iterator.return?.();
    response.end();
    return;
  }
  try {
    while (piece.done !== true && !response.closed) {
      if (!response.write(piece.value)) await waitForDrain(response);
      piece = await iterator.next();
    }
    response.end();
  } catch (error) {
    onBroken(error);
    response.destroy();
  } finally {
    await iterator.return?.();
  }
}

/** Resolves when the client has taken what was written, or has gone. */
async function waitForDrain(response: Response): Promise<void> {
  if (response.closed) return;
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  waiting.abort();
}
