import type { Socket } from 'node:net';
import { openSocket } from './server-connections.js';
import type { Answer, TestApp } from './test-app.js';
import { until } from './until.js';

/** Idle connections of tests need no time to end by themselves. */
export const FEED = { CHANGE_FEED: 'on', SHUTDOWN_GRACE_MS: '0' };

export interface Change {
  readonly cursor: string;
  readonly type: string;
  readonly id: number;
  readonly at: string;
  readonly data?: object;
}

/** Lists the changes of an answer, without their cursors and times. */
export function listChanges({ body }: Answer): unknown[] {
  return (body as Change[]).map(({ type, id, data }) => [type, id, data]);
}

/** The cursor after the last change. */
export async function latestCursor(app: TestApp): Promise<string> {
  const page = await app.get('/changes?after=latest');
  return new URL(page.next ?? '', app.url).searchParams.get('after') ?? '';
}

/** Sends a request for changes on a connection of its own. */
export function sendChangesRequest(
  app: TestApp,
  token: string,
  query: string,
  method = 'GET',
): Socket {
  const socket = openSocket(app.port);
  socket.write(
    `${method} /changes${query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  return socket.resume();
}

/** Waits until this number of requests wait for a change. */
export async function untilWaiting(app: TestApp, count: number): Promise<void> {
  await until(async () => (await readMetric(app, 'change_feed_listeners')) === count);
}

/** @param name of a metric, with its labels, as a regular expression */
async function readMetric(app: TestApp, name: string): Promise<number> {
  const { text } = await app.get('/metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}
