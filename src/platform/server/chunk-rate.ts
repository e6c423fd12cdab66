import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type Client, getClient } from '../limits/client.js';
import { holdReading, releaseReading } from '../requests/socket-reading.js';
import { destroyUnparsed } from './node-internals.js';

/** How many chunks of a body are read without a limit on their rate. */
export const FREE_CHUNKS = 256;
const TICK_MS = 10;
/** How many further chunks of all bodies together are read per tick. */
const CHUNKS_PER_TICK = 320;
export const CHUNKS_PER_SECOND = (CHUNKS_PER_TICK / TICK_MS) * 1_000;

/** How far one client is ahead of the rate, and which of its connections wait. */
interface ClientRate {
  readonly client: Client;
  /** How many chunks have been read ahead of the rate, up to those of two seconds. */
  debt: number;
  /** The connections that wait to be read further. */
  readonly waiting: Set<Socket>;
}

/** The clients that have chunks ahead of the rate, or connections waiting, by their keys. */
const rates = new Map<string, ClientRate>();
/** The key of the client that sends the current body of many chunks. */
const keys = new WeakMap<Socket, string>();
/** The rate of a client, for which a connection waits. */
const awaited = new WeakMap<Socket, ClientRate>();
let timer: NodeJS.Timeout | undefined;

/**
 * Counts a chunk of a body, and may pause reading from its connection. A chunk of one byte takes as
 * long to parse as a large one, and the system delivers ten thousand of them at once. Therefore
 * bodies of many chunks are read at a limited rate, which is shared between clients. If a client
 * begins too many such bodies at a time while another of its connections waits, it loses the
 * connection.
 *
 * @param index the place of the chunk in its body, from 1
 * @returns whether the body has many chunks, so that those read together should be joined
 */
export function countChunk(socket: Socket, index: number): boolean {
  if (index <= FREE_CHUNKS) return false;
  const rate = findRate(socket, index === FREE_CHUNKS + 1);
  if (rate.debt < 2 * CHUNKS_PER_SECOND) rate.debt++;
  if (rate.debt <= CHUNKS_PER_TICK || !holdReading(socket, rates)) return true;
  if (rate.debt > CHUNKS_PER_SECOND && rate.waiting.size > 0) {
    destroyUnparsed(socket);
  } else {
    rate.waiting.add(socket);
    awaited.set(socket, rate);
    socket.on('close', stopWaiting);
  }
  return true;
}

function findRate(socket: Socket, isNewBody: boolean): ClientRate {
  const known = isNewBody ? undefined : rates.get(keys.get(socket) ?? '');
  if (known !== undefined) return known;
  const client = getClient({ socket });
  const key = `${client.name}\n${client.address}`;
  const rate = rates.get(key) ?? { client, debt: 0, waiting: new Set() };
  keys.set(socket, key);
  rates.set(key, rate);
  timer ??= setInterval(readFurther, TICK_MS).unref();
  return rate;
}

/** Shares the rate between names, and within a name between its addresses. */
function readFurther(): void {
  const addresses = new Map<string, number>();
  for (const { client } of rates.values()) {
    addresses.set(client.name, (addresses.get(client.name) ?? 0) + 1);
  }
  for (const [key, rate] of rates) {
    const ofName = CHUNKS_PER_TICK / addresses.size;
    rate.debt = Math.max(0, rate.debt - ofName / (addresses.get(rate.client.name) ?? 1));
    if (rate.debt > 0) continue;
    const [next] = rate.waiting;
    if (next === undefined) {
      rates.delete(key);
    } else {
      stopWaiting.call(next);
      releaseReading(next, rates);
    }
  }
  if (rates.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

function stopWaiting(this: Socket): void {
  this.off('close', stopWaiting);
  awaited.get(this)?.waiting.delete(this);
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
