import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Send } from '../proofs/linearizability/history.js';
import { sendToPlantings } from '../proofs/linearizability/planting-requests.js';
import { Workload } from '../proofs/linearizability/workload.js';
import { ClientPool } from '../support/http/client-pool.js';
import { TestApp } from '../support/test-app.js';
import { EXAMPLE_MODULES } from './example.js';

const SEED = 20_240_613;
const HISTORIES = 100;

let app: TestApp;
let sendToPlanting: Send;
const clients = new ClientPool(() => app.url);

beforeAll(async () => {
  app = await TestApp.start({}, ...EXAMPLE_MODULES);
  sendToPlanting = await sendToPlantings(clients.send, 2 * HISTORIES);
});
afterAll(async () => {
  clients.close();
  await app.close();
});

it(`${HISTORIES} histories of plantings, whose key has two columns, are those of registers`, async () => {
  const workload = new Workload(SEED, sendToPlanting);
  await workload.run(HISTORIES);
  const { histories, violations } = workload.report;
  expect(violations).toEqual([]);
  expect(histories).toBe(HISTORIES);
});

it('a transport that loses removals of plantings is detected', async () => {
  const misbehave: Send = async (request) => {
    if (request.method !== 'DELETE') return await sendToPlanting(request);
    return { status: 204, headers: {}, body: '', closes: false };
  };
  const workload = new Workload(SEED, misbehave, HISTORIES);
  await workload.run(HISTORIES, 1);
  expect(workload.report.violations.length).toBeGreaterThan(0);
});
