import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { copyFile } from 'node:fs/promises';
import { MAX_WAITING_REQUESTS } from '../../src/platform/rest/long-poll.js';
import { Turns } from '../../src/platform/requests/turns.js';
import {
  FEED,
  latestCursor,
  listChanges,
  sendChangesRequest,
  untilWaiting,
} from '../support/change-feed.js';
import { holdTimeouts, resetClocks } from '../support/clock.js';
import { expectError } from '../support/expect-error.js';
import { querySqlite } from '../support/store.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

const OTHER_TOKEN = 'another-token-of-another-client';

let app: TestApp;

beforeEach(async () => {
  app = await TestApp.start({ ...FEED, ACCESS_TOKENS: `${TOKEN},${OTHER_TOKEN}` });
});
afterEach(async () => {
  resetClocks();
  await app.close();
});

it.each<[string, (from: string, to: string) => Promise<unknown>]>([
  ['the file that VACUUM INTO made', (from, to) => querySqlite(from, 'VACUUM INTO ?', [to])],
  ['a copy of the file of a stopped program', (from, to) => copyFile(from, to)],
])(
  'a mirror of a store that is restored from %s goes on if it was not ahead, and is told so if it was',
  async (_, copy) => {
    const store = app.storeUrl.replace('sqlite:', '');
    await app.create('{"id":7,"name":"Monstera"}');
    const before = await latestCursor(app);
    await app.restart({}, () => copy(store, `${store}.copy`));
    await app.create('{"id":8,"name":"lost"}');
    const ahead = await latestCursor(app);
    await app.restart({}, () => copyFile(`${store}.copy`, store));
    expectError(await app.get(`/changes?after=${ahead}`), 'CHANGES_GONE');
    await app.create('{"id":9,"name":"new"}');
    expectError(await app.get(`/changes?after=${ahead}`), 'CHANGES_GONE');
    const created = ['plant.created', 9, { id: 9, name: 'new' }];
    expect(listChanges(await app.get(`/changes?after=${before}`))).toEqual([created]);
  },
);

it('INSERT OR REPLACE is a removal and a creation', async () => {
  await app.create('{"id":7,"name":"Monstera"}');
  await app.query(`INSERT OR REPLACE INTO plants (id, name) VALUES (7, 'Ficus')`);
  expect(listChanges(await app.get('/changes'))).toEqual([
    ['plant.created', 7, { id: 7, name: 'Monstera' }],
    ['plant.removed', 7, undefined],
    ['plant.created', 7, { id: 7, name: 'Ficus' }],
  ]);
});

it('the client with most of too many waiting requests loses the oldest', async () => {
  const query = `?after=${await latestCursor(app)}&wait=25`;
  // However long this takes, no request waits for too long.
  holdTimeouts();
  const sockets = [sendChangesRequest(app, OTHER_TOKEN, query)];
  await untilWaiting(app, 1);
  const oldest = sendChangesRequest(app, TOKEN, query);
  const refused = once(oldest, 'data');
  await untilWaiting(app, 2);
  sockets.push(oldest);
  while (sockets.length < MAX_WAITING_REQUESTS) {
    sockets.push(sendChangesRequest(app, TOKEN, query));
    if (sockets.length % 100 === 0) await untilWaiting(app, sockets.length);
  }
  sockets.push(sendChangesRequest(app, TOKEN, query));
  const [answer] = (await refused) as [Buffer];
  expect(String(answer)).toMatch(/^HTTP\/1.1 503 [^]*retry-after/i);
  await untilWaiting(app, MAX_WAITING_REQUESTS);
  for (const socket of sockets) socket.destroy();
  await until(() => Turns.ofPages.isIdle);
});
