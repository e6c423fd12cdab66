import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { getClient } from '../limits/client.js';
import { FairQueue } from '../limits/fair-queue.js';
import { destroyUnparsed } from './node-internals.js';
import { holdReading, releaseReading } from './socket-reading.js';

/** How many chunks of a body are read without a limit on their rate. */
export const FREE_CHUNKS = 256;
const TICK_MS = 10;
/** How many further chunks of all bodies together are read per tick. */
const CHUNKS_PER_TICK = 320;
export const CHUNKS_PER_SECOND = (CHUNKS_PER_TICK / TICK_MS) * 1_000;

/** The connections that wait to be read further. */
const waiting = new FairQueue<Socket>();
/** How many chunks have been read ahead of the rate, up to those of two seconds. */
let ahead = 0;
let timer: NodeJS.Timeout | undefined;

/**
 * Counts a chunk of a body, and may pause reading from its connection. A chunk of one byte takes as
 * long to parse as a large one, and the system delivers ten thousand of them at once. Therefore
 * bodies of many chunks are read at a limited rate, and in turn between clients. If too many begin
 * at a time, a client that has another one waiting loses its connection.
 *
 * @param index the place of the chunk in its body, from 1
 * @returns whether the body has many chunks, so that those read together should be joined
 */
export function countChunk(socket: Socket, index: number): boolean {
  if (index <= FREE_CHUNKS) return false;
  if (holdReading(socket, waiting)) {
    const client = getClient({ socket });
    if (ahead > CHUNKS_PER_SECOND && waiting.has(client)) {
      destroyUnparsed(socket);
      return true;
    }
    waiting.push(client, socket);
    timer ??= setInterval(readNext, TICK_MS).unref();
  }
  if (ahead < 2 * CHUNKS_PER_SECOND) ahead++;
  return true;
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

/** Joins chunks that are read together, since passing on each takes twice as long. */
export class JoinedChunks {
  private chunks: Buffer[] = [];
  private size = 0;

  /** @param pass passes on the joined chunks */
  constructor(
    private readonly request: IncomingMessage,
    private readonly pass: (bytes: Buffer) => void,
  ) {}

  /** Returns whether the request should be read further, like `push()` of a stream. */
  add(chunk: Buffer): boolean {
    if (this.chunks.length === 0) setImmediate(() => this.flush());
    this.chunks.push(chunk);
    this.size += chunk.length;
    return this.request.readableLength + this.size < this.request.readableHighWaterMark;
  }

  flush(): void {
    if (this.chunks.length === 0 || this.request.destroyed) return;
    this.pass(Buffer.concat(this.chunks));
    this.chunks = [];
    this.size = 0;
  }
}
