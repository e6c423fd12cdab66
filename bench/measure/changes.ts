import { once } from 'node:events';
import net from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Contestant, program } from '../contestants.js';
import { freshIds } from '../ids.js';
import { openLoop } from '../open-loop.js';
import { TOKEN } from '../operations.js';
import type { Server } from '../server.js';
import { formatNumber, printTable } from '../table.js';
import { compare, type Comparison } from './compare.js';
import { runAndCount, type Setting } from './round.js';

const FEED = { CHANGE_FEED: 'on' };
/** The greatest ratio of the rate of creates without the feed to that with it. */
const GREATEST_COST = 1.15;
/** The least ratio of the rate of creates with a listener to that without. */
const LEAST_SHARE = 0.8;

const LISTENERS = 1_000;
/** The creates per second while all listeners follow the feed. */
const RATE = 20;
/** How long an event may take to reach a listener, in milliseconds. */
const LONGEST = 1_000;

const CHANGE = /"type":"[^"]+","id":(\d+)/g;

/** The events of many listeners, and their delays in milliseconds from the start of a create. */
interface Heard {
  readonly p50: number;
  readonly p99: number;
  readonly longestMs: number;
  /** The events of all listeners together. */
  readonly heard: number;
  /** Events that were not received. */
  readonly missing: number;
}

/** Measures the cost of the feed of changes, and how soon many listeners receive a create. */
export async function changes(setting: Setting): Promise<{ costs: Comparison; crowd: Heard }> {
  const off = program('feed-off', 'Plant Store, without the feed');
  const on = program('feed-on', 'with the feed', FEED);
  const followed = { ...program('followed', 'with the feed and a listener', FEED), beside: follow };
  const costs = await compare(setting, [off, on, followed], 'The feed of changes');
  const crowd = await listenTogether(setting, on);
  const [, cost = NaN, costFollowed = NaN] = costs.contestants.map(({ ratio }) => ratio.median);
  demand(cost <= GREATEST_COST, `with the feed a create costs ${cost.toFixed(2)}`);
  const share = 1 / costFollowed;
  demand(share >= LEAST_SHARE, `with a listener creates keep ${share.toFixed(2)} of their rate`);
  demand(crowd.missing === 0, `${crowd.missing} events did not come`);
  demand(crowd.longestMs <= LONGEST, `an event took ${crowd.longestMs.toFixed()} ms`);
  return { costs, crowd };
}

function demand(holds: boolean, fault: string): void {
  if (holds) return;
  console.error(`\nFAILED: ${fault}`);
  process.exitCode = 1;
}

/** @returns a function that ends the listener, which must have received changes by then */
async function follow({ url }: Server): Promise<() => void> {
  const listener = await listen(url, () => undefined);
  return () => {
    demand(!listener.destroyed, 'the listener was dropped');
    listener.destroy();
  };
}

/** Follows the feed on a connection of its own; `onChange` is called with the id of each plant. */
async function listen(url: string, onChange: (id: string) => void): Promise<net.Socket> {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  const follow = (path: string): void => {
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
    );
  };
  let text = '';
  socket.setEncoding('latin1').on('data', (piece) => {
    text += String(piece);
    // The body is longer than its head says where it is not complete.
    const [, head = '', body = ''] = /^(HTTP[^]*?)\r\n\r\n(\[[^]*\])$/.exec(text) ?? [];
    const [, link] = /<([^>]*)>; *rel="next"/i.exec(head) ?? [];
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? [];
    if (link === undefined || body.length !== Number(length)) return;
    text = '';
    follow(link);
    for (const [, id = ''] of body.matchAll(CHANGE)) onChange(id);
  });
  follow('/changes?after=latest&wait=25');
  await once(socket, 'data');
  return socket;
}

/** Sends creates at a low rate while many clients listen. */
async function listenTogether(setting: Setting, contestant: Contestant): Promise<Heard> {
  const { seconds } = setting;
  const ids = freshIds();
  const delays = createHistogram();
  let heard = 0;
  let created = 0;
  await runAndCount(setting, contestant, ids, async ([{ url }]) => {
    const began = new Map<string, number>();
    const onChange = (id: string): void => {
      heard += 1;
      const delay = performance.now() - (began.get(id) ?? NaN);
      delays.record(Math.max(1, Math.round(delay * 1_000)));
    };
    const listeners: net.Socket[] = [];
    while (listeners.length < LISTENERS) {
      const some = Array.from({ length: 50 }, () => listen(url, onChange));
      listeners.push(...(await Promise.all(some)));
    }
    const onCreate = (id: string, due: number): void => void began.set(id, due);
    const tally = await openLoop({ url, rate: RATE, connections: 10, seconds, ids, onCreate });
    created = tally.acknowledged;
    const deadline = performance.now() + 2 * LONGEST;
    while (heard < created * LISTENERS && performance.now() < deadline) await sleep(20);
    for (const listener of listeners) listener.destroy();
    return [tally];
  });
  const p50 = delays.percentile(50) / 1_000;
  const p99 = delays.percentile(99) / 1_000;
  const longestMs = delays.max / 1_000;
  const missing = created * LISTENERS - heard;
  printTable(
    `From the start of a create to its event at each of ${LISTENERS} listeners, in ms, at ${RATE} creates/s`,
    ['', 'p50', 'p99', 'longest', 'events', 'missing'],
    [
      [
        'with the feed',
        ...[p50, p99, longestMs, heard, missing].map((value) => formatNumber(value)),
      ],
    ],
  );
  return { p50, p99, longestMs, heard, missing };
}
