import type { Socket } from 'node:net';
import { getClient } from '../limits/client.js';
import { FairQueue } from '../limits/fair-queue.js';
import { holdReading, releaseReading } from './socket-reading.js';

/** How many chunks of a body are read without a limit on their rate. */
export const FREE_CHUNKS = 1_024;
const TICK_MS = 10;
/** How many further chunks of all bodies together are read per tick. */
const CHUNKS_PER_TICK = 640;
export const CHUNKS_PER_SECOND = (CHUNKS_PER_TICK / TICK_MS) * 1_000;

/** The connections that wait to be read further. */
const waiting = new FairQueue<Socket>();
/** How many chunks have been read beyond the rate, up to those of one second. */
let ahead = 0;
let timer: NodeJS.Timeout | undefined;

/**
 * Counts a chunk of a body, and may pause reading from its connection. A chunk of one byte takes as
 * long to parse as a large one, and the system delivers ten thousand of them at once. Therefore
 * bodies of many chunks are read at a limited rate, and in turn between clients.
 *
 * @param index the place of the chunk in its body, from 1
 */
export function countChunk(socket: Socket, index: number): void {
  if (index <= FREE_CHUNKS) return;
  if (ahead < CHUNKS_PER_SECOND) ahead++;
  if (!holdReading(socket, waiting)) return;
  waiting.push(getClient({ socket }), socket);
  timer ??= setInterval(readNext, TICK_MS).unref();
}

function readNext(): void {
  ahead = Math.max(0, ahead - CHUNKS_PER_TICK);
  if (ahead > 0) return;
  const next = waiting.shift();
  if (next !== undefined) releaseReading(next, waiting);
  if (!waiting.isEmpty) return;
  clearInterval(timer);
  timer = undefined;
}
