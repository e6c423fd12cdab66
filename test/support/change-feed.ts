import { connect, type Socket } from 'node:net';
import { readEvents, type StreamEvent } from './event-source.js';
import type { TestApp } from './test-app.js';

/** Idle connections of tests need no time to end by themselves. */
export const FEED = { CHANGE_FEED: 'on', SHUTDOWN_GRACE_MS: '0' };

/** The cursor after the last change. */
export async function latestCursor(app: TestApp): Promise<string> {
  const page = await app.get('/changes?after=latest');
  return new URL(page.next ?? '', app.url).searchParams.get('after') ?? '';
}

/** Sends GET /changes for an event stream. */
export async function openStream(
  app: TestApp,
  headers: Record<string, string> = {},
  query = '',
): Promise<Response> {
  return await fetch(`${app.url.origin}/changes${query}`, {
    headers: { ...app.authorization, Accept: 'text/event-stream', ...headers },
  });
}

export type Events = AsyncGenerator<StreamEvent, void, undefined>;

/** Opens an event stream that continues after a cursor, or else begins now. */
export async function listen(app: TestApp, cursor?: string): Promise<Events> {
  return readEvents(await openStream(app, cursor === undefined ? {} : { 'Last-Event-ID': cursor }));
}

/** @throws Error when the stream has ended */
export async function readEvent(events: Events): Promise<StreamEvent> {
  const { value } = (await events.next()) as IteratorResult<StreamEvent, undefined>;
  if (value === undefined) throw new Error('the stream has ended');
  return value;
}

/** Sends GET /changes on a connection of its own. */
export function sendChangesRequest(
  app: TestApp,
  token: string,
  query: string,
  ...headers: readonly string[]
): Socket {
  const socket = connect(app.port, '127.0.0.1').on('error', () => undefined);
  const lines = [`GET /changes${query} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${token}`];
  socket.write([...lines, ...headers, '', ''].join('\r\n'));
  return socket.resume();
}

/** @param name of a metric, with its labels, as a regular expression */
export async function readMetric(app: TestApp, name: string): Promise<number> {
  const { text } = await app.get('/metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}
