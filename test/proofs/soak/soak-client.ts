import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { HttpClient } from '../../support/http/client.js';
import type { HttpRequest } from '../../support/http/request.js';
import { makeEmptyRequest, makeRequest } from '../../support/plant-requests.js';
import type { SeededRandom } from '../../support/seeded-random.js';

/** How many ids a client has: some are always in use, and others free. */
const IDS = 2_000;

interface Plant {
  readonly name: string;
  readonly tag?: string;
}

/** A request, and the only right answer to it. */
interface Step {
  readonly request: HttpRequest;
  readonly status: number;
  /** Undefined if there is no body, or only the status and the code matter. */
  readonly body?: unknown;
  readonly error?: number;
}

/** A client with its own plants, which knows every expected answer. */
export class SoakClient {
  readonly faults: string[] = [];
  requests = 0;
  /** The least time from one request to the next, in milliseconds. */
  pauseMs = 0;
  private readonly plants = new Map<number, Plant>();
  private latencies: number[] = [];
  private isOver = false;

  constructor(
    private readonly url: URL,
    private readonly index: number,
    private readonly random: SeededRandom,
  ) {}

  stop(): void {
    this.isOver = true;
  }

  /** The latencies since the last call, in milliseconds. */
  takeLatencies(): number[] {
    const { latencies } = this;
    this.latencies = [];
    return latencies;
  }

  /** Resolves once it is stopped, or an answer is wrong. */
  async run(): Promise<void> {
    const client = new HttpClient(this.url);
    while (!this.isOver && this.faults.length === 0) {
      const step = this.next();
      const began = performance.now();
      const { status, body } = await client.send(step.request);
      const ms = performance.now() - began;
      this.latencies.push(ms);
      this.requests++;
      const fault = findFault(step, status, body);
      if (fault !== undefined) this.faults.push(fault);
      if (ms < this.pauseMs) await sleep(this.pauseMs - ms);
    }
    client.close();
  }

  /** Draws a request, and changes the model as the request changes the store. */
  private next(): Step {
    const { plants, random } = this;
    const id = this.index * IDS + random.below(IDS) + 1;
    const path = `/plants/${id}`;
    const known = plants.get(id);
    const plant = this.draw();
    const missing = { status: 404, error: 40_401 };
    switch (random.pick('create', 'create', 'read', 'replace', 'patch', 'remove', 'list')) {
      case 'create': {
        const request = makeRequest(JSON.stringify({ id, ...plant }));
        if (known === undefined) {
          plants.set(id, plant);
          return { request, status: 200, body: plant };
        }
        const error = isDeepStrictEqual(known, plant) ? 40_901 : 40_900;
        return { request, status: 409, error };
      }
      case 'read': {
        const request = makeEmptyRequest('GET', path);
        return { request, ...(known ? { status: 200, body: { id, ...known } } : missing) };
      }
      case 'replace': {
        const request = makeRequest(JSON.stringify(plant), { method: 'PUT', target: path });
        if (known === undefined) return { request, ...missing };
        plants.set(id, plant);
        return { request, status: 200, body: plant };
      }
      case 'patch': {
        const body = JSON.stringify({ name: plant.name });
        const request = makeRequest(body, { method: 'PATCH', target: path });
        if (known === undefined) return { request, ...missing };
        const patched = { ...known, name: plant.name };
        plants.set(id, patched);
        return { request, status: 200, body: patched };
      }
      case 'remove': {
        const request = makeEmptyRequest('DELETE', path);
        return { request, ...(plants.delete(id) ? { status: 204 } : missing) };
      }
      case 'list': {
        // No other client uses this tag, so the expected page is known.
        const tag = `${this.index}-${random.below(IDS)}`;
        const request = makeEmptyRequest('GET', `/plants?limit=10&tag=${tag}`);
        const body = [...plants]
          .filter(([, one]) => one.tag === tag)
          .sort(([a], [b]) => a - b)
          .slice(0, 10)
          .map(([key, one]) => ({ id: key, ...one }));
        return { request, status: 200, body };
      }
    }
  }

  private draw(): Plant {
    const { random } = this;
    const name = `plant ${random.below(1_000)}`;
    if (random.below(3) === 0) return { name };
    return { name, tag: `${this.index}-${random.below(IDS)}` };
  }
}

function findFault(step: Step, status: number, text: string): string | undefined {
  const { request, body, error } = step;
  const answer: unknown = text === '' ? undefined : JSON.parse(text);
  const isRight =
    status === step.status &&
    (error === undefined
      ? isDeepStrictEqual(answer, body)
      : (answer as { error?: number }).error === error);
  if (isRight) return undefined;
  return `${request.method} ${request.target} got ${status} ${text} in the place of ${step.status} ${JSON.stringify(body ?? error)}`;
}
