import type { Socket } from 'node:net';
import { getClient } from '../auth/client.js';
import { FairQueue } from '../auth/fair-queue.js';
import { holdReading, releaseReading } from './socket-reading.js';

/** How many chunks a body may have until it is read at the pace. */
export const FREE_CHUNKS = 1_024;
const TICK_MS = 10;
/** How many further chunks are read in a tick, of all bodies together. */
const CHUNKS_PER_TICK = 640;
export const CHUNKS_PER_SECOND = (CHUNKS_PER_TICK / TICK_MS) * 1_000;

/** The connections that are to be read on. */
const waiting = new FairQueue<Socket>();
/** How many chunks were read that there was no time for, of a second at most. */
let ahead = 0;
let timer: NodeJS.Timeout | undefined;

/**
 * Counts a chunk of a body. One of a byte takes as long to read as a large one, and ten thousand of
 * them come in one piece from the system: a body of many is read piece by piece, and client by client.
 *
 * @param index of the chunk in its body, from 1
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
