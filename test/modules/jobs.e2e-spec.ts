import { expect, it } from '@jest/globals';
import { Jobs } from 'durable-rest';
import { TestApp } from '../support/fixture-app.js';

it('a run of a job is claimed once, and never after a later one', async () => {
  const app = await TestApp.start();
  const jobs = app.nest.get(Jobs);
  const claims: boolean[] = [];
  for (const seconds of [2, 2, 1, 3]) {
    claims.push(await jobs.claimRun('water', new Date(seconds * 1_000)));
  }
  expect(claims).toEqual([true, false, false, true]);
  await app.close();
});
