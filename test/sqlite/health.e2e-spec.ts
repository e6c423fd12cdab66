import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { rename } from 'node:fs/promises';
import { DataSource } from 'typeorm';
import { commitConnection } from '../support/commit-connection.js';
import { expectError } from '../support/expect-error.js';
import { TestApp } from '../support/test-app.js';

let app: TestApp;

beforeEach(async () => {
  app = await TestApp.start();
});

afterEach(async () => {
  await app.close();
});

it('/health/ready really writes to the store', async () => {
  const dataSource = app.nest.get(DataSource);
  await dataSource.query('PRAGMA wal_checkpoint(TRUNCATE)');
  const [before] = await dataSource.query<object[]>('PRAGMA wal_checkpoint');
  expect(await app.request('GET', '/health/ready')).toMatchObject({ status: 200 });
  const [after] = await dataSource.query<object[]>('PRAGMA wal_checkpoint');
  expect([before, after]).toMatchObject([{ log: 0 }, { log: 1 }]);
});

it('/health/ready is 503 while the store may not be written', async () => {
  await commitConnection(app).exec('PRAGMA query_only = 1');
  expectError(await app.request('GET', '/health/ready'), 'UNAVAILABLE');
});

it('/health/ready is 503 while the file of the store is not in its place', async () => {
  const path = app.storeUrl.replace('sqlite:', '');
  await rename(path, `${path}.away`);
  expectError(await app.request('GET', '/health/ready'), 'UNAVAILABLE');
  await rename(`${path}.away`, path);
});
