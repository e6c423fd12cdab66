import { expect, it } from '@jest/globals';
import { copyFile } from 'node:fs/promises';
import { FEED, latestCursor, listChanges } from '../support/change-feed.js';
import { expectError } from 'durable-rest/testing';
import { recordLog } from '../support/record-log.js';
import { querySqlite } from '../support/store.js';
import { TestApp } from '../support/fixture-app.js';

const app = TestApp.forEach(FEED);

it('a mirror of a store that is restored from a backup goes on if it was not ahead, and is told so if it was', async () => {
  const store = app.storeUrl.replace('sqlite:', '');
  await app.create('{"id":7,"name":"Monstera"}');
  const before = await latestCursor(app);
  await app.restart({}, () => querySqlite(store, 'VACUUM INTO ?', [`${store}.copy`]));
  await app.create('{"id":8,"name":"lost"}');
  const ahead = await latestCursor(app);
  await app.restart({}, () => copyFile(`${store}.copy`, store));
  expectError(await app.get(`/changes?after=${ahead}`), 'CHANGES_GONE');
  await app.create('{"id":9,"name":"new"}');
  expectError(await app.get(`/changes?after=${ahead}`), 'CHANGES_GONE');
  const created = ['plant.created', 9, { id: 9, name: 'new' }];
  expect(listChanges(await app.get(`/changes?after=${before}`))).toEqual([created]);
});

it('INSERT OR REPLACE is a removal and a creation', async () => {
  await app.create('{"id":7,"name":"Monstera"}');
  await app.query(`INSERT OR REPLACE INTO plants (id, name) VALUES (7, 'Ficus')`);
  expect(listChanges(await app.get('/changes'))).toEqual([
    ['plant.created', 7, { id: 7, name: 'Monstera' }],
    ['plant.removed', 7, undefined],
    ['plant.created', 7, { id: 7, name: 'Ficus' }],
  ]);
});

it('a trigger that fires itself without end is named in the log, and not to the client', async () => {
  await app.query('CREATE TABLE replacing (id text UNIQUE ON CONFLICT REPLACE)');
  await app.query(
    `CREATE TRIGGER touch AFTER UPDATE ON plants BEGIN UPDATE plants SET tag = 'new' WHERE id = NEW.id; END`,
  );
  await app.create('{"id":7,"name":"Monstera"}');
  const log = recordLog(app, 'error');
  expectError(await app.put('/plants/7', '{"name":"Ficus"}'), 'INTERNAL');
  expect(log.join('')).toContain('Add WHEN NEW.tag IS OLD.tag to the trigger touch of plants');
  await app.query('DROP TABLE replacing');
  expect(await app.put('/plants/7', '{"name":"Ficus"}')).toMatchObject({ status: 200 });
  expect(await app.row('7')).toEqual({ id: '7', name: 'Ficus', tag: 'new' });
  expect(listChanges(await app.get('/changes')).at(-1)).toEqual([
    'plant.replaced',
    7,
    { id: 7, name: 'Ficus', tag: 'new' },
  ]);
});
