import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { backUpStore } from '../../src/commands/back-up-store.js';
import { checkStore } from '../../src/commands/check-store.js';
import { restoreStore } from '../../src/commands/restore-store.js';
import { expectError } from '../support/expect-error.js';
import { TestApp } from '../support/test-app.js';

const FEED = { CHANGE_FEED: 'on' };
const ignore = (): void => undefined;

let app: TestApp;
let folder: string;
let copy: string;

beforeEach(async () => {
  app = await TestApp.start(FEED);
  folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  copy = join(folder, 'copy.db');
  await app.create('{"id":7,"name":"Monstera"}');
  await backUpStore(app.storeUrl.replace('sqlite:', ''), copy, ignore);
  await app.create('{"id":8,"name":"later"}');
});

afterEach(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

/** The changes of a program that is started on the copy. */
async function readChangesOfCopy(): Promise<unknown> {
  const other = await TestApp.start({ ...FEED, DATABASE_URL: `sqlite:${copy}` });
  const { body } = await other.get('/changes');
  await other.close();
  return body;
}

describe('a backup of a store with the feed', () => {
  it('has the changes up to its moment with their cursors', async () => {
    const { contents, faults } = await checkStore(copy);
    expect(faults).toEqual([]);
    expect(contents).toContain('changes: 1, number from 1 to 1');
    const { body } = await app.get('/changes?limit=1');
    expect(await readChangesOfCopy()).toEqual(body);
  });

  it('begins a new epoch when it is restored', async () => {
    const { next = '' } = await app.get('/changes');
    const store = app.storeUrl.replace('sqlite:', '');
    await app.restart(FEED, () => restoreStore(copy, store, ignore));
    expectError(await app.get(next), 'CHANGES_GONE');
    expect((await app.get('/changes')).body).toEqual([]);
    expect(await app.rows()).toHaveLength(1);
  });
});

describe('a row that a module replaces by INSERT OR REPLACE', () => {
  it('is removed and created in the feed', async () => {
    await app.nest.get(DataSource).query("INSERT OR REPLACE INTO plants VALUES (7, 'new', NULL)");
    const { body } = await app.get('/changes');
    expect(body).toMatchObject([
      { type: 'plant.created', id: 7, data: { name: 'Monstera' } },
      { type: 'plant.created', id: 8 },
      { type: 'plant.removed', id: 7 },
      { type: 'plant.created', id: 7, data: { name: 'new' } },
    ]);
  });
});
