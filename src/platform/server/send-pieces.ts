import type { Response } from 'express';
import { once } from 'node:events';

/**
 * Answers with text that is made while it is sent: no more of it is made than the client takes.
 * An error before the first byte is thrown. One after it breaks the connection, so that a truncated
 * answer never looks complete.
 *
 * @param onBroken gets the error of an answer that has begun
 */
export async function sendPieces(
  response: Response,
  pieces: AsyncIterable<string>,
  onBroken: (error: unknown) => void,
): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]();
  let piece = await iterator.next();
  if (response.req.method === 'HEAD') {
    await iterator.return?.();
    response.end();
    return;
  }
  try {
    while (piece.done !== true) {
      if (!response.write(piece.value)) await untilDrained(response);
      if (response.closed) break;
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
async function untilDrained(response: Response): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  waiting.abort();
}
