import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { BatchedRepository } from '../../src/platform/database/batched-repository.js';
import { claimRun, JobRun } from '../../src/platform/database/jobs.js';
import { type EntityStore, openEntityStore } from '../support/store.js';

const DAY = new Date('2026-11-22T00:00:00Z');
const NEXT_DAY = new Date('2026-11-23T00:00:00Z');

let store: EntityStore;

beforeEach(async () => {
  Logger.overrideLogger(false);
  store = await openEntityStore([JobRun]);
});
afterEach(() => store.close());

it('lets one of several programs do a job for each time at which it is due', async () => {
  const one = new BatchedRepository(store.dataSource.getRepository(JobRun));
  const other = new BatchedRepository(store.dataSource.getRepository(JobRun));
  const claims = [one, other, one, other].map((runs) => claimRun(runs, 'tidy', DAY));
  expect((await Promise.all(claims)).filter(Boolean)).toHaveLength(1);
  expect(await claimRun(other, 'tidy', DAY)).toBe(false);
  expect(await claimRun(other, 'tidy', NEXT_DAY)).toBe(true);
  expect(await claimRun(one, 'tidy', DAY)).toBe(false);
  expect(await claimRun(one, 'water', DAY)).toBe(true);
});
