import { expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { expectError } from '../support/expect-error.js';
import { TestApp } from '../support/test-app.js';

const app = TestApp.forEach();

it.each(['/health/live', '/health/ready'])('%s needs no token and has no details', async (path) => {
  const answer = await app.request('GET', path);
  expect(answer).toMatchObject({ status: 200, body: { status: 'ok' } });
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(await app.request('HEAD', path)).toMatchObject({ status: 200, body: '' });
  expectError(await app.request('POST', path), 'METHOD_NOT_ALLOWED');
});

it('/health/ready really writes to the store, and leaves no row', async () => {
  const dataSource = app.nest.get(DataSource);
  await dataSource.query('PRAGMA wal_checkpoint(TRUNCATE)');
  const [before] = await dataSource.query<object[]>('PRAGMA wal_checkpoint');
  expect(await app.request('GET', '/health/ready')).toMatchObject({ status: 200 });
  const [after] = await dataSource.query<object[]>('PRAGMA wal_checkpoint');
  expect([before, after]).toMatchObject([{ log: 0 }, { log: 1 }]);
  expect(await app.rows()).toEqual([]);
});
