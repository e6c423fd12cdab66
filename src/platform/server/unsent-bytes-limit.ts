import type { ServerResponse } from 'node:http';
import { getClient } from '../limits/client.js';
import { FairShare, type Holding } from '../limits/fair-share.js';
import { breakOff } from './break-off.js';
import { countQueuedBytes } from './node-internals.js';

/** How many bytes of answers may wait for all clients together. */
export const UNSENT_LIMIT = 64 * 1024 * 1024;

const unsentAnswers = new FairShare(UNSENT_LIMIT);
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
  const holding = known ?? unsentAnswers.hold(getClient(req), () => breakOff(response));
  if (known === undefined) {
    holdings.set(response, holding);
    response.once('close', () => holding.end());
  }
  // Of a text, `writableLength` counts the characters.
  const unsent = Math.max(writableLength, countQueuedBytes(req.socket));
  holding.update(response.closed ? 0 : unsent);
}
