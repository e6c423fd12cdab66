import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { tmpdir } from 'node:os';
import type { HttpAnswer } from './support/http/answer.js';
import type { HttpRequest } from './support/http/request.js';
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

type Misbehaviour = (request: HttpRequest) => Promise<HttpAnswer | undefined>;

const cache = new Map<string, HttpAnswer>();
const lost = new Set<string>();
const replaced = new Map<string, HttpRequest>();

/** Transports between the clients and the programs that misbehave. */
const MISBEHAVIOURS: Readonly<Record<string, Misbehaviour>> = {
  'answers reads from a cache': async (request) => {
    const isPlain = request.method === 'GET' && request.headers.length === 1;
    const cached = isPlain ? cache.get(request.target) : undefined;
    const answer = cached ?? (await send(request));
    if (isPlain && answer !== undefined) cache.set(request.target, answer);
    return answer;
  },
  'ignores If-Match': (request) =>
    send({ ...request, headers: request.headers.filter(([name]) => name !== 'If-Match') }),
  'loses the first removal of a plant': async (request) => {
    if (request.method !== 'DELETE' || lost.has(request.target)) return await send(request);
    lost.add(request.target);
    return { status: 204, headers: {}, body: '', closes: false };
  },
  'sends a replace again, after its answer and the next request': async (request) => {
    const answer = await send(request);
    const repeated = replaced.get(request.target);
    replaced.delete(request.target);
    if (repeated !== undefined) await send(repeated);
    else if (request.method === 'PUT' && answer?.status === 200) {
      replaced.set(request.target, request);
    }
    return answer;
  },
};

describe('what the checker finds: something that', () => {
  it.each(Object.entries(MISBEHAVIOURS))('%s', async (_, misbehave) => {
    const workload = workloadOn(misbehave);
    await workload.run(HISTORIES, 1);
    expect(workload.report.violations.length).toBeGreaterThan(0);
  });
});
