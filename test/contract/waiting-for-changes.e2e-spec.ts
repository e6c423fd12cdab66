import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { Turns } from '../../src/platform/requests/turns.js';
import {
  FEED,
  latestCursor,
  listChanges,
  sendChangesRequest,
  untilWaiting,
} from '../support/change-feed.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

const MONSTERA = '{"id":7,"name":"Monstera"}';
const CREATED = ['plant.created', 7, { id: 7, name: 'Monstera' }];

let app: TestApp;

afterEach(() => app.close());

describe('a request that waits for a change', () => {
  it('is answered when there is one, and its Link repeats limit and wait', async () => {
    app = await TestApp.start(FEED);
    const cursor = await latestCursor(app);
    const waiting = app.get(`/changes?after=${cursor}&limit=5&wait=25`);
    await untilWaiting(app, 1);
    expect(Turns.ofPages.isIdle).toBe(true);
    await app.create(MONSTERA);
    const page = await waiting;
    expect(listChanges(page)).toEqual([CREATED]);
    const after = await latestCursor(app);
    expect(page.next).toBe(`/changes?limit=5&after=${after}&wait=25`);
    await untilWaiting(app, 0);
  });

  it('is answered at once if there is a change, or with the latest cursor', async () => {
    app = await TestApp.start(FEED);
    await app.create(MONSTERA);
    expect(listChanges(await app.get('/changes?wait=25'))).toEqual([CREATED]);
    expect((await app.get('/changes?after=latest&wait=25')).body).toEqual([]);
  });

  it('is answered with an empty page when the time is over', async () => {
    app = await TestApp.start(FEED);
    const cursor = await latestCursor(app);
    const page = await app.get(`/changes?after=${cursor}&wait=1`);
    expect(page).toMatchObject({ status: 200, body: [] });
    expect(page.next).toBe(`/changes?limit=100&after=${cursor}&wait=1`);
  });

  it('is answered when another program on the store makes a change', async () => {
    app = await TestApp.start(FEED);
    const cursor = await latestCursor(app);
    const waiting = app.get(`/changes?after=${cursor}&wait=25`);
    await untilWaiting(app, 1);
    await app.query(`INSERT INTO plants (id, name) VALUES (7, 'Monstera')`);
    expect(listChanges(await waiting)).toEqual([CREATED]);
  });

  it('is answered with an empty page when the program stops', async () => {
    app = await TestApp.start(FEED);
    const cursor = await latestCursor(app);
    const waiting = [1, 2, 3].map(() => app.get(`/changes?after=${cursor}&wait=25`));
    await untilWaiting(app, 3);
    await app.nest.close();
    const pages = await Promise.all(waiting);
    expect(pages.map(({ body }) => body)).toEqual([[], [], []]);
  });

  it('is forgotten when its client leaves', async () => {
    app = await TestApp.start(FEED);
    const cursor = await latestCursor(app);
    const [one, other] = [1, 2].map(() =>
      sendChangesRequest(app, TOKEN, `?after=${cursor}&wait=25`),
    );
    await untilWaiting(app, 2);
    one?.destroy();
    await untilWaiting(app, 1);
    other?.end();
    await untilWaiting(app, 0);
  });

  it('does not wait if it is a HEAD', async () => {
    app = await TestApp.start(FEED);
    const cursor = await latestCursor(app);
    const socket = sendChangesRequest(app, TOKEN, `?after=${cursor}&wait=25`, 'HEAD');
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(String(head)).toContain(`after=${cursor}`);
    await untilWaiting(app, 0);
    socket.destroy();
  });
});
