import fc from 'fast-check';
import type { ApiDocument } from './api-document.js';
import type { NewPlant } from './body.js';
import { faultsOf, type Wanted } from './checks.js';
import { withEtag } from './conditions.js';
import type { Expected, Probe } from './expected.js';
import type { Answer } from './http-answer.js';
import type { Transport } from './http-client.js';
import { type HttpRequest, textOf } from './http-request.js';
import { PlantsModel } from './plants-model.js';
import { probeArbitrary, type ProbeMaker } from './probe.arbitrary.js';

/** Cases made at a time. Each batch has a seed of its own, so that it can be made again alone. */
export const BATCH = 200;

export interface Failure {
  readonly faults: readonly string[];
  readonly request: HttpRequest;
  /** undefined when there was none. */
  readonly answer: Answer | undefined;
  /** Of the batch: with it as the first, the case comes again. */
  readonly seed: number;
}

interface Case {
  readonly make: ProbeMaker;
  readonly seed: number;
  readonly index: number;
}

type Fault = Omit<Failure, 'seed'>;

/** Sends cases until one is answered wrongly, over several connections at once. */
export class Fuzzer {
  readonly model = new PlantsModel();
  /** Answers by status and, of errors, code. */
  readonly seen = new Map<string, number>();
  requests = 0;
  /** Called after each thousand requests. */
  onThousand: () => void = () => undefined;
  private freshIds = 0n;
  private failure: Failure | undefined;
  private readonly connections: readonly Transport[];
  private readonly cases: Iterator<Case, never>;

  constructor(
    private readonly document: ApiDocument,
    seed: number,
    connect: () => Transport,
    workers: number,
    /** How long to look for a smaller counterexample, in milliseconds. */
    private readonly shrinkTime = 20_000,
  ) {
    this.connections = Array.from({ length: workers }, connect);
    this.cases = casesOf(seed);
  }

  /**
   * Goes on until this many requests have been sent in all.
   *
   * @returns the first failure, as small as it could be made
   */
  async run(requests: number): Promise<Failure | undefined> {
    await Promise.all(this.connections.map((connection) => this.work(connection, requests)));
    return this.failure;
  }

  /** Sends one request; its answer has these faults. */
  async check(probe: Probe, connection = this.connections[0]): Promise<Fault | undefined> {
    if (connection === undefined) throw new TypeError('a fuzzer needs a connection');
    const { expected, verdict } = probe;
    return await this.inTurn(expected, async (wanted) => {
      const etag = 'id' in expected || 'plant' in expected ? this.etagOf(expected) : undefined;
      const request = { ...probe.request, headers: withEtag(probe.request.headers, etag) };
      if (++this.requests % 1_000 === 0) this.onThousand();
      try {
        const answer = await connection.send(request);
        this.count(answer, wanted);
        if (answer.status === 200 && 'plant' in expected) this.model.stored(expected.plant);
        if (answer.status === 204 && expected.kind === 'remove') this.model.removed(expected.id);
        const faults = faultsOf({ request, answer, wanted, verdict }, this.document);
        return faults.length > 0 ? { faults, request, answer } : undefined;
      } catch (error) {
        return { faults: [`valid_http: ${String(error)}`], request, answer: undefined };
      }
    });
  }

  close(): void {
    for (const connection of this.connections) connection.close();
  }

  /** Spread over all int64, and never the same: multiplying by an odd number loses nothing. */
  freshId(seed: number): bigint {
    this.freshIds++;
    const mixed = (BigInt(seed >>> 0) << 32n) ^ this.freshIds;
    return BigInt.asIntN(64, mixed * 0x9e3779b97f4a7c15n);
  }

  private async work(connection: Transport, requests: number): Promise<void> {
    while (this.failure === undefined && this.requests < requests) {
      const { make, seed, index } = this.cases.next().value;
      const fault = await this.checkAll(make(this.freshId(seed)), connection);
      if (fault === undefined || this.isFailed()) continue;
      this.failure = { ...fault, seed };
      this.failure = { ...(await this.shrink(fault, seed, index, connection)), seed };
    }
  }

  /** Other workers may have found a failure while one waited. */
  private isFailed(): boolean {
    return this.failure !== undefined;
  }

  private async checkAll(
    probes: readonly Probe[],
    connection: Transport,
  ): Promise<Fault | undefined> {
    for (const probe of probes) {
      const fault = await this.check(probe, connection);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  /** Makes the same case again, then smaller ones, as long as the same check fails. */
  private async shrink(
    first: Fault,
    seed: number,
    index: number,
    connection: Transport,
  ): Promise<Fault> {
    let smallest = first;
    const property = fc.asyncProperty(probeArbitrary, async (make) => {
      const fault = await this.checkAll(make(this.freshId(seed)), connection);
      const isSame = fault !== undefined && checkOf(fault) === checkOf(first);
      if (isSame) smallest = fault;
      return !isSame;
    });
    await fc.check(property, {
      seed,
      path: String(index),
      numRuns: 1,
      interruptAfterTimeLimit: this.shrinkTime,
    });
    return smallest;
  }

  private async inTurn<T>(expected: Expected, work: (wanted: Wanted) => Promise<T>): Promise<T> {
    switch (expected.kind) {
      case 'create':
      case 'replace':
        return await this.model.inTurn(expected.plant.id, () => work(this.wantedOf(expected)));
      case 'read':
      case 'remove':
        return await this.model.inTurn(expected.id, () => work(this.wantedOf(expected)));
      case 'list':
        return await this.model.inTurnOfAll(() => work(this.wantedOf(expected)));
      default:
        return await work(expected);
    }
  }

  /** What the store, as it is, makes of what is expected. */
  private wantedOf(expected: Expected): Wanted {
    switch (expected.kind) {
      case 'create': {
        const { plant } = expected;
        const outcome = this.model.outcomeOf(plant);
        return outcome === 200 ? { kind: 'plant', plant } : { kind: 'error', error: outcome };
      }
      case 'replace': {
        const { plant, conditions } = expected;
        const error = this.model.refusalOf(plant.id, conditions);
        return error === undefined ? { kind: 'plant', plant } : { kind: 'error', error };
      }
      case 'remove': {
        const error = this.model.refusalOf(expected.id, expected.conditions);
        return error === undefined ? { kind: 'removed' } : { kind: 'error', error };
      }
      case 'read': {
        const { id, conditions } = expected;
        const etag = this.model.etagOf(id);
        if (etag === undefined) return { kind: 'error', error: 40401 };
        const outcomes = conditions.map(({ read }) => read);
        if (outcomes.includes('refused')) return { kind: 'error', error: 41200 };
        return { kind: outcomes.includes('not modified') ? 'unmodified' : 'stored', id, etag };
      }
      case 'list': {
        const { query } = expected;
        return { kind: 'listed', query, page: this.model.page(query) };
      }
      default:
        return expected;
    }
  }

  private etagOf(
    expected: { readonly id: bigint } | { readonly plant: NewPlant },
  ): string | undefined {
    return this.model.etagOf('id' in expected ? expected.id : expected.plant.id);
  }

  private count({ status }: Answer, wanted: Wanted): void {
    const isRight = wanted.kind === 'error' && status === Math.floor(wanted.error / 100);
    const key = isRight ? `${status} ${wanted.error}` : String(status);
    this.seen.set(key, (this.seen.get(key) ?? 0) + 1);
  }
}

/** The name of the first check that failed. */
function checkOf({ faults }: Fault): string | undefined {
  return faults[0]?.split(':')[0];
}

/** The cases of a seed, in batches of which only one is in memory. */
function* casesOf(firstSeed: number): Generator<Case, never> {
  for (let seed = firstSeed; ; seed = (seed + 1) | 0) {
    const makers = fc.sample(probeArbitrary, { seed, numRuns: BATCH });
    for (const [index, make] of makers.entries()) yield { make, seed, index };
  }
}

/** A failure for people to read. */
export function describeFailure({ faults, request, answer, seed }: Failure): string {
  const status =
    answer === undefined ? '' : `${answer.status} ${answer.body.toString().slice(0, 1_000)}`;
  return [
    ...faults,
    `--- request (seed ${seed})`,
    textOf(request),
    '--- answer',
    status,
    `--- again: npm run fuzz -- --seed ${seed} --requests ${BATCH}`,
    'If it passes alone, it depends on what came before: run the whole again with its own seed.',
  ].join('\n');
}
