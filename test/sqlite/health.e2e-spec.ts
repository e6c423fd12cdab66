import { expect, it } from '@jest/globals';
import { renameSync } from 'node:fs';
import { DataSource } from 'typeorm';
import { expectError } from 'durable-rest/testing';
import { TestApp } from '../support/fixture-app.js';

const app = TestApp.forEach();

it('/health/ready needs no token, really writes to the store, and leaves no row', async () => {
  const dataSource = app.nest.get(DataSource);
  await dataSource.query('PRAGMA wal_checkpoint(TRUNCATE)');
  const [before] = await dataSource.query<object[]>('PRAGMA wal_checkpoint');
  const answer = await app.request('GET', '/health/ready');
  expect(answer).toMatchObject({ status: 200, body: { status: 'ok' } });
  const [after] = await dataSource.query<object[]>('PRAGMA wal_checkpoint');
  expect([before, after]).toMatchObject([{ log: 0 }, { log: 1 }]);
  expect(await app.rows()).toEqual([]);
});

it('/health/ready is 503 once the file of the store was moved away', async () => {
  const path = app.storeUrl.replace(/^sqlite:/, '');
  renameSync(path, `${path}.moved`);
  expectError(await app.request('GET', '/health/ready'), 'UNAVAILABLE');
});
