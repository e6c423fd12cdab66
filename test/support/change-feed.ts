import { type Answer, until } from 'durable-rest/testing';
import type { PlantsApplication } from './plants-application.js';

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
export async function latestCursor(app: PlantsApplication): Promise<string> {
  const page = await app.get('/changes?after=latest');
  return new URL(page.next ?? '', app.url).searchParams.get('after') ?? '';
}

/** Waits until this number of requests wait for a change. */
export async function untilWaiting(app: PlantsApplication, count: number): Promise<void> {
  const line = `\nchange_feed_listeners ${count}\n`;
  await until(async () => (await app.get('/metrics')).text.includes(line));
}
