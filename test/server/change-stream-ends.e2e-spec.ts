import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { DataSource } from 'typeorm';
import { ChangeFeed } from '../../src/platform/database/change-feed.js';
import { MAX_STREAMS } from '../../src/platform/rest/event-stream.js';
import {
  FEED,
  latestCursor,
  listen,
  openStream,
  readEvent,
  readMetric,
  sendChangesRequest,
} from '../support/change-feed.js';
import { passSeconds, resetClocks } from '../support/clock.js';
import { readEvents } from '../support/event-source.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { TokenIssuer } from '../support/token-issuer.js';
import { until } from '../support/until.js';

let app: TestApp;

afterEach(async () => {
  await app.close();
  resetClocks();
});

async function untilListeners(count: number): Promise<void> {
  await until(async () => (await readMetric(app, 'change_feed_listeners')) === count);
}

/** Creates plants meanwhile: without changes, the feed looks once per second who has left. */
async function untilAllHaveLeft(): Promise<void> {
  let id = 0;
  await until(async () => {
    await app.create(`{"id":${++id},"name":"n"}`);
    return (await readMetric(app, 'change_feed_listeners')) === 0;
  });
}

describe('a stream of changes ends', () => {
  it('when its client disconnects', async () => {
    app = await TestApp.start(FEED);
    const leaving = new AbortController();
    const response = await fetch(`${app.url.origin}/changes`, {
      headers: { ...app.authorization, Accept: 'text/event-stream' },
      signal: leaving.signal,
    });
    await readEvent(readEvents(response));
    await untilListeners(1);
    leaving.abort();
    await untilAllHaveLeft();
  });

  it('when its client has left, though it sent a body', async () => {
    app = await TestApp.start(FEED);
    const socket = sendChangesRequest(
      app,
      TOKEN,
      '',
      'Accept: text/event-stream',
      'Content-Length: 100000',
    );
    socket.write('x'.repeat(100_000));
    await untilListeners(1);
    socket.end();
    await untilAllHaveLeft();
  });

  it('when its client has too many, of which it is the oldest', async () => {
    const other = 'another-token-of-another-client';
    app = await TestApp.start({ ...FEED, ACCESS_TOKENS: `${TOKEN},${other}` });
    const begin = async (token: string): Promise<Socket> => {
      const socket = sendChangesRequest(app, token, '', 'Accept: text/event-stream');
      await once(socket, 'data');
      return socket;
    };
    const sockets = [await begin(other)];
    const oldest = await begin(TOKEN);
    const ended = once(oldest, 'close');
    while (sockets.length < MAX_STREAMS - 1) {
      const count = Math.min(100, MAX_STREAMS - 1 - sockets.length);
      sockets.push(...(await Promise.all(Array.from({ length: count }, () => begin(TOKEN)))));
    }
    expect(oldest.closed).toBe(false);
    sockets.push(await begin(TOKEN));
    await ended;
    await untilListeners(MAX_STREAMS);
    for (const socket of sockets) socket.destroy();
  });

  it('when its client reads nothing for too long, and misses no change by that', async () => {
    app = await TestApp.start({ ...FEED, SEND_TIMEOUT_MS: '200' });
    const after = await latestCursor(app);
    const socket = sendChangesRequest(app, TOKEN, '', 'Accept: text/event-stream').pause();
    await once(socket, 'readable');
    // More than the system buffers for a client that does not read.
    const name = 'x'.repeat(100_000);
    let id = 0;
    await until(async () => {
      await app.create(`{"id":${++id},"name":"${name}"}`);
      return (await readMetric(app, 'change_feed_listeners')) === 0;
    });
    let received = '';
    socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')));
    await once(socket.resume(), 'close');
    const whole = [...received.matchAll(/^id: (.*)\nevent: .*\ndata: .*"\}\}\n\r?\n/gm)];
    const last = whole.at(-1)?.[1] ?? after;
    // This client reads, but a busy machine may be slow at it.
    await app.restart({ SEND_TIMEOUT_MS: '' });
    const events = await listen(app, last);
    expect(await readEvent(events)).toMatchObject({ id: last });
    for (let next = whole.length + 1; next <= id; next++) {
      expect(JSON.parse((await readEvent(events)).data ?? '')).toMatchObject({ id: next });
    }
    await events.return();
  });

  it('when its token expires', async () => {
    const issuer = await TokenIssuer.start();
    try {
      app = await TestApp.start({ ...FEED, ...issuer.env });
      const headers = { Authorization: `Bearer ${await issuer.token()}` };
      const events = readEvents(await openStream(app, headers));
      await readEvent(events);
      passSeconds(24 * 3_600);
      expect(await events.next()).toMatchObject({ done: true });
    } finally {
      await issuer.stop();
    }
  });

  it('if changes have been removed while it waited for its turn', async () => {
    app = await TestApp.start(FEED);
    const cursor = await latestCursor(app);
    await app.create('{"id":7,"name":"n"}');
    await app.create('{"id":8,"name":"n"}');
    const feed = app.nest.get(ChangeFeed);
    await feed.getLatestCursor();
    const changes = feed.follow(cursor, new AbortController().signal, async (read) => {
      const store = app.nest.get(DataSource);
      await store.query('DELETE FROM changes WHERE number = (SELECT min(number) FROM changes)');
      await store.query('UPDATE change_feed SET removed = (SELECT min(number) - 1 FROM changes)');
      return await read();
    });
    expect(await changes.next()).toMatchObject({ done: true });
  });
});
