import { once } from 'node:events';
import net from 'node:net';
import { createHistogram, performance } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { program } from '../contestants.mjs';
import { freshIds } from '../ids.mjs';
import { openLoop } from '../open-loop.mjs';
import { formatNumber, printTable } from '../table.mjs';
import { compare } from './compare.mjs';
import { inNewFolder, runAndCount } from './round.mjs';

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

const EVENT = /\nid: \S+\nevent: \S+\ndata: \{"cursor":"[^"]+","type":"[^"]+","id":(\d+)/g;

/** Measures the cost of the feed of changes, and how soon many listeners receive a create. */
export async function changes(setting) {
  const off = program('feed-off', 'Plant Store, without the feed');
  const on = program('feed-on', 'with the feed', FEED);
  const followed = { ...program('followed', 'with the feed and a listener', FEED), beside: follow };
  const costs = await compare(setting, [off, on, followed], 'The feed of changes');
  const crowd = await inNewFolder(setting, on, (folder) => listenTogether(setting, on, folder));
  const [, { ratio: cost }, { ratio: costFollowed }] = costs.contestants;
  demand(cost.median <= GREATEST_COST, `with the feed a create costs ${cost.median.toFixed(2)}`);
  const share = 1 / costFollowed.median;
  demand(share >= LEAST_SHARE, `with a listener creates keep ${share.toFixed(2)} of their rate`);
  demand(crowd.missing === 0, `${crowd.missing} events did not come`);
  demand(crowd.longestMs <= LONGEST, `an event took ${crowd.longestMs.toFixed()} ms`);
  return { costs, crowd };
}

function demand(holds, fault) {
  if (holds) return;
  console.error(`\nFAILED: ${fault}`);
  process.exitCode = 1;
}

/** @returns a function that ends the listener, which must have received changes by then */
async function follow({ url, token }) {
  const listener = await listen(url, token, () => {});
  return () => {
    demand(!listener.destroyed, 'the listener was dropped');
    listener.destroy();
  };
}

/** Follows the feed on a connection of its own. */
async function listen(url, token, onEvent) {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port) });
  socket.on('error', () => {});
  socket.write(
    `GET /changes HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\nAccept: text/event-stream\r\n\r\n`,
  );
  let rest = '';
  socket.setEncoding('latin1').on('data', (text) => {
    rest += text;
    let end = 0;
    for (const match of rest.matchAll(EVENT)) {
      onEvent(match[1]);
      end = match.index + match[0].length;
    }
    rest = rest.slice(end);
  });
  await once(socket, 'data');
  return socket;
}

/** Sends creates at a low rate while many clients listen. */
async function listenTogether(setting, contestant, folder) {
  const ids = freshIds();
  const delays = createHistogram();
  let heard = 0;
  let created = 0;
  const run = async ({ url, token }) => {
    const began = new Map();
    const onEvent = (id) => {
      heard += 1;
      delays.record(Math.max(1, Math.round((performance.now() - began.get(id)) * 1_000)));
    };
    const listeners = [];
    while (listeners.length < LISTENERS) {
      const some = Array.from({ length: 50 }, () => listen(url, token, onEvent));
      listeners.push(...(await Promise.all(some)));
    }
    const onCreate = (id, due) => began.set(id, due);
    const options = { url, token, rate: RATE, connections: 10, ids, onCreate };
    const tally = await openLoop({ ...options, seconds: setting.seconds });
    created = tally.acknowledged;
    const deadline = performance.now() + 2 * LONGEST;
    while (heard < created * LISTENERS && performance.now() < deadline) await sleep(20);
    for (const listener of listeners) listener.destroy();
    return [tally];
  };
  await runAndCount(setting, contestant, folder, ids, run);
  const [p50, p99] = [50, 99].map((p) => delays.percentile(p) / 1_000);
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
