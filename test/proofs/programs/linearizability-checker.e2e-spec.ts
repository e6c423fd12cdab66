import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Workload } from '../linearizability/workload.js';
import type { HttpAnswer } from '../../support/http/answer.js';
import { ClientPool } from '../../support/http/client-pool.js';
import type { HttpRequest } from '../../support/http/request.js';
import { TestApp } from '../../support/test-app.js';

const SEED = 20_240_613;
const HISTORIES = 200;

let app: TestApp;
let lastId = 0;
const clients = new ClientPool(() => app.url);

beforeAll(async () => {
  app = await TestApp.start();
});
afterAll(async () => {
  clients.close();
  await app.close();
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
    const answer = cached ?? (await clients.send(request));
    if (isPlain && answer !== undefined) cache.set(request.target, answer);
    return answer;
  },
  'ignores If-Match': (request) =>
    clients.send({ ...request, headers: request.headers.filter(([name]) => name !== 'If-Match') }),
  'loses the first removal of a plant': async (request) => {
    if (request.method !== 'DELETE' || lost.has(request.target)) return await clients.send(request);
    lost.add(request.target);
    return { status: 204, headers: {}, body: '', closes: false };
  },
  'sends a replace again, after its answer and the next request': async (request) => {
    const answer = await clients.send(request);
    const repeated = replaced.get(request.target);
    replaced.delete(request.target);
    if (repeated !== undefined) await clients.send(repeated);
    else if (request.method === 'PUT' && answer?.status === 200) {
      replaced.set(request.target, request);
    }
    return answer;
  },
};

describe('the checker finds something that', () => {
  it.each(Object.entries(MISBEHAVIOURS))('%s', async (_, misbehave) => {
    const workload = new Workload(SEED, misbehave, lastId);
    lastId += HISTORIES;
    await workload.run(HISTORIES, 1);
    expect(workload.report.violations.length).toBeGreaterThan(0);
  });
});
