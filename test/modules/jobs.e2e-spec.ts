import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { JobRun, Jobs } from '../../src/platform/database/jobs.js';
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
  const one = new Jobs(store.dataSource);
  const other = new Jobs(store.dataSource);
  const claims = [one, other, one, other].map((jobs) => jobs.claimRun('tidy', DAY));
  expect((await Promise.all(claims)).filter(Boolean)).toHaveLength(1);
  expect(await other.claimRun('tidy', DAY)).toBe(false);
  expect(await other.claimRun('tidy', NEXT_DAY)).toBe(true);
  expect(await one.claimRun('tidy', DAY)).toBe(false);
  expect(await one.claimRun('water', DAY)).toBe(true);
});
