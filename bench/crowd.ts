import net from 'node:net';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ids, takeId } from './ids.js';
import type { Counts } from './load.js';
import { plantBody, TOKEN } from './operations.js';

/** How long the last answers may take, in milliseconds. */
const PATIENCE = 20_000;
/** The most creates that are sent at once after a stall of this client. */
const BURST = 2_000;

export interface CrowdOptions {
  readonly url: string;
  /** Creates per second; Infinity for as many as the connections allow. */
  readonly rate: number;
  readonly connections: number;
  /** Seconds at that rate before latencies and rates count. */
  readonly warmUp: number;
  readonly seconds: number;
  readonly ids: Ids;
}

export interface CrowdTally extends Counts {
  /** Creates without a free connection. */
  readonly unsent: number;
  /** The counts of the `seconds` after the warm-up. */
  readonly during: { seconds: number; due: number; acknowledged: number; refused: number };
  /** The latencies after the warm-up, in microseconds. */
  readonly latency: { accepted: RecordableHistogram; refused: RecordableHistogram };
}

interface Connection {
  readonly socket: net.Socket;
  /** When its create was due; undefined while the connection is free. */
  due: number | undefined;
  /** The received part of the answer. */
  text: string;
}

/**
 * Sends creates at a fixed rate, whether the answers keep up or not, each on a free one of many
 * open connections. A create without a free connection is counted as `unsent`. Closed connections
 * are opened again.
 */
export async function crowd({
  url,
  rate,
  connections,
  warmUp,
  seconds,
  ids,
}: CrowdOptions): Promise<CrowdTally> {
  const { hostname, port, pathname } = new URL(url);
  const head = `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: `;
  const idle: Connection[] = [];
  const open = new Set<Connection>();
  const latency = { accepted: createHistogram(), refused: createHistogram() };
  let countedFrom = Infinity;
  const tally = { acknowledged: 0, refused: 0, unanswered: 0, unsent: 0, due: 0 };

  const send = (due: number): void => {
    tally.due += 1;
    const connection = idle.pop() ?? (open.size < connections ? connect() : undefined);
    if (connection === undefined) {
      tally.unsent += 1;
      return;
    }
    const body = plantBody(takeId(ids));
    connection.due = due;
    connection.socket.write(`${head}${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };

  const connect = (): Connection => {
    const socket = net.connect({ host: hostname, port: Number(port) });
    const connection: Connection = { socket, due: undefined, text: '' };
    open.add(connection);
    socket.setNoDelay();
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => read(connection, chunk.toString('latin1')));
    socket.on('close', () => {
      open.delete(connection);
      if (connection.due === undefined) idle.splice(idle.indexOf(connection) >>> 0, 1);
      else tally.unanswered += 1;
    });
    return connection;
  };

  const read = (connection: Connection, text: string): void => {
    connection.text += text;
    const end = connection.text.indexOf('\r\n\r\n');
    const length = /content-length: (\d+)/i.exec(connection.text)?.[1];
    if (end < 0 || connection.text.length < end + 4 + Number(length)) return;
    const isAccepted = connection.text.startsWith('HTTP/1.1 200');
    tally[isAccepted ? 'acknowledged' : 'refused'] += 1;
    const { due = NaN } = connection;
    if (due >= countedFrom) {
      const time = Math.round((performance.now() - due) * 1_000);
      latency[isAccepted ? 'accepted' : 'refused'].record(Math.max(1, time));
    }
    const isKept = !/\r\nconnection: close/i.test(connection.text);
    connection.text = '';
    connection.due = undefined;
    if (isKept) idle.push(connection);
  };

  const offer = async (time: number): Promise<void> => {
    const begin = performance.now();
    const end = begin + time * 1_000;
    let sent = 0;
    for (let now = begin; now < end; now = performance.now()) {
      if (rate === Infinity) {
        while (idle.length > 0 || open.size < connections) send(now);
      } else {
        const until = Math.min(sent + BURST, ((now - begin) * rate) / 1_000);
        while (sent < until) send(begin + (sent++ * 1_000) / rate);
      }
      await sleep(1);
    }
  };

  while (open.size < connections) {
    for (let count = 0; count < 50 && open.size < connections; count++) idle.push(connect());
    await sleep(10);
  }

  await offer(warmUp);
  const before = { ...tally };
  countedFrom = performance.now();
  await offer(seconds);
  // The rate of the program is measured while it is under load.
  const during = {
    seconds: (performance.now() - countedFrom) / 1_000,
    due: tally.due - before.due,
    acknowledged: tally.acknowledged - before.acknowledged,
    refused: tally.refused - before.refused,
  };
  const deadline = performance.now() + PATIENCE;
  const isWaiting = (): boolean => [...open].some(({ due }) => due !== undefined);
  while (isWaiting() && performance.now() < deadline) await sleep(20);
  for (const { socket } of open) socket.destroy();
  while (open.size > 0) await sleep(5);
  return { ...tally, during, latency };
}
