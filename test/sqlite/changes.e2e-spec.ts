import { expect, it } from '@jest/globals';
import { copyFile } from 'node:fs/promises';
import { FEED, latestCursor, listChanges } from '../support/change-feed.js';
import { expectError } from 'durable-rest/testing';
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
