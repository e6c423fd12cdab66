import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { tmpdir } from 'node:os';
import { SeededRandom } from './support/seeded-random.js';
import { ENGINE, TestStore } from './support/test-store.js';
import type { Send } from './proofs/linearizability/history.js';
import { Replicas } from './proofs/linearizability/replicas.js';
import { Workload } from './proofs/linearizability/workload.js';

const SEED = 20_240_613;
const HISTORIES = 200;
/** Requests after which a program is killed: when all clients have begun, and long before they end. */
const KILLED_AFTER = 200;
const REPLICAS = ENGINE === 'postgres' ? 2 : 1;

const random = new SeededRandom(SEED);
let store: TestStore;
let replicas: Replicas;
let lastId = 0;

beforeAll(async () => {
  store = await TestStore.create();
  replicas = await Replicas.start(REPLICAS, tmpdir(), store.url);
});
afterAll(async () => {
  await replicas.stop();
  await store.remove();
});

const send: Send = (request) => replicas.send(request, random);

function workloadOn(how: Send): Workload {
  const workload = new Workload(SEED, how, lastId);
  lastId += HISTORIES;
  return workload;
}

describe(`${HISTORIES} histories of clients`, () => {
  it('are those of registers', async () => {
    const workload = workloadOn(send);
    await workload.run(HISTORIES);
    const { histories, violations } = workload.report;
    expect(violations).toEqual([]);
    expect(histories).toBe(HISTORIES);
  });

  it('are those of registers across a SIGKILL', async () => {
    let requests = 0;
    let killed: Promise<void> | undefined;
    const workload = workloadOn((request) => {
      if (++requests === KILLED_AFTER) killed = replicas.kill(random);
      return send(request);
    });
    await workload.run(HISTORIES);
    await killed;
    const { violations, unknown } = workload.report;
    expect(violations).toEqual([]);
    expect(unknown).toBeGreaterThan(0);
  });
});
