import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../support/free-port.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { TOKEN } from '../../support/token.js';
import { until } from '../../support/until.js';

let folder: ProgramFolder;

beforeAll(async () => {
  folder = await ProgramFolder.create();
});

afterAll(() => folder.remove());

describe('standard output that is closed', () => {
  it.each([
    ['before the start, with tokens', { ACCESS_TOKENS: TOKEN }],
    ['before the start, without tokens', {}],
  ])('%s costs lines and nothing else: it serves, and the end is in order', async (_, tokens) => {
    const port = await freePort();
    const closed = folder.start({
      ...tokens,
      PORT: String(port),
      DATABASE_URL: 'sqlite::memory:',
    });
    closed.stopReading();
    const live = `http://127.0.0.1:${port}/health/live`;
    await until(async () => (await fetch(live).catch(() => undefined))?.ok === true);
    // The program prints its token, if it makes one, before it can be told to stop.
    for (let round = 0; round < 20; round++) expect(await fetch(live)).toMatchObject({ ok: true });
    closed.kill('SIGTERM');
    expect(await closed.exited()).toBe(0);
  });

  it('while it serves costs lines and nothing else: plants are created', async () => {
    const closed = folder.start({ ACCESS_TOKENS: TOKEN, DATABASE_URL: 'sqlite:o.db' });
    const plants = `${await closed.listening()}/plants`;
    closed.stopReading();
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
    for (const id of [1, 2, 3]) {
      const body = JSON.stringify({ id, name: 'n' });
      expect(await fetch(plants, { method: 'POST', headers, body })).toMatchObject({ status: 200 });
    }
    closed.kill('SIGTERM');
    expect(await closed.exited()).toBe(0);
  });
});
