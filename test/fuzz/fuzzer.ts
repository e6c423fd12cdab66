import fc from 'fast-check';
import type { HttpAnswer } from '../support/http/answer.js';
import type { Transport } from '../support/http/client.js';
import { type HttpRequest, textOf } from '../support/http/request.js';
import { makeEmptyRequest } from '../support/plant-requests.js';
import {
  type ApiDocument,
  type Collection,
  type DocumentedOperation,
  nameOf,
} from './api-document.js';
import { type Case, CollectionCases, type Content } from './case.arbitrary.js';
import { faultsOf, nextPageOf, pathOfItem, type Wanted } from './checks.js';
import { withEtag } from './conditions.js';
import { isError, jsonOf } from './conformance.js';
import { readExactly } from './json-text.js';
import { type Probe, Probes, strayProbes } from './probe.arbitrary.js';
import { StoreModel } from './store-model.js';
import { wantedOfCreate, wantedOfItem, wantedOfList, wantedOfOther } from './wanted.js';

/** Cases made at a time. Each batch has a seed of its own, so that it can be made again alone. */
export const BATCH = 200;
/** How many things are on a page when all are looked at. */
const PAGE = 100;
/** How many keys of a collection others refer to. */
const KNOWN_KEYS = 20;
/** How many faults of the store are told. */
const SHOWN = 10;
/** How many times its share of the requests a subject may have until each operation was carried out. */
const PATIENCE = 20;

export interface Failure {
  readonly faults: readonly string[];
  /** undefined when it is the store that is wrong, not an answer. */
  readonly request?: HttpRequest | undefined;
  /** undefined when there was none. */
  readonly answer?: HttpAnswer | undefined;
  /** Of the batch: with it as the first, the case comes again. */
  readonly seed: number;
}

type Fault = Omit<Failure, 'seed'>;

/** What is fuzzed at a time: a collection, or the operations that belong to none. */
interface Subject {
  readonly operations: readonly DocumentedOperation[];
  readonly any: fc.Arbitrary<Case>;
  readonly cases?: CollectionCases | undefined;
  readonly model?: StoreModel;
}

/** What became of a request: what is wrong with it, or the keys of what it has created. */
interface Outcome {
  readonly fault?: Fault | undefined;
  readonly created?: Content;
}

/**
 * Sends requests to every operation of the document, made of nothing but what it says of them, until
 * one is answered wrongly, over several connections at once.
 */
export class Fuzzer {
  /** Answers by status and, of errors, code. */
  readonly seen = new Map<string, number>();
  /** Operations that were carried out at least once. */
  readonly carriedOut = new Set<string>();
  requests = 0;
  /** Called after each thousand requests. */
  onThousand: () => void = () => undefined;
  private freshIds = 0n;
  private failure: Failure | undefined;
  private readonly connections: readonly Transport[];
  private readonly subjects: readonly Subject[];

  constructor(
    private readonly document: ApiDocument,
    private readonly seed: number,
    connect: () => Transport,
    workers: number,
    /** How long to look for a smaller counterexample, in milliseconds. */
    private readonly shrinkTime = 20_000,
  ) {
    this.connections = Array.from({ length: workers }, connect);
    this.subjects = subjectsOf(document);
  }

  /** How many things are stored in all. */
  get stored(): number {
    return this.subjects.reduce((sum, { model }) => sum + (model?.size ?? 0), 0);
  }

  /** What must be stored of the collection at a path. */
  modelOf(path: string): StoreModel {
    const models = this.subjects.flatMap(({ model }) => model ?? []);
    const found = models.find(({ collection }) => collection.create.path === path);
    if (found === undefined) throw new TypeError(`nothing is created at ${path}`);
    return found;
  }

  /**
   * Sends so many requests, of each subject as many, and then looks at all that is stored. A subject
   * gets more requests while one of its operations has not been carried out.
   *
   * @param unreachable names of operations that made-up requests do not get through to
   * @returns the first failure, as small as it could be made
   */
  async run(requests: number, unreachable: readonly string[] = []): Promise<Failure | undefined> {
    const share = Math.ceil(requests / this.subjects.length);
    for (const subject of this.subjects) {
      await this.learn(subject);
      const wanted = subject.operations
        .map(nameOf)
        .filter((operation) => !unreachable.includes(operation));
      const end = this.requests + share;
      const last = this.requests + PATIENCE * share;
      const needsMore = (): boolean =>
        this.requests < end ||
        (this.requests < last && wanted.some((operation) => !this.carriedOut.has(operation)));
      const cases = casesOf(subject.any, this.seed);
      const work = this.connections.map((one) => this.work(subject, cases, one, needsMore));
      await Promise.all(work);
      await this.audit(subject);
    }
    return this.failure;
  }

  /**
   * Sends every flaw and every precondition once.
   *
   * @returns the first failure
   */
  async runRows(): Promise<Failure | undefined> {
    for (const probe of strayProbes(this.document)) {
      if (await this.isFailedBy(probe, undefined)) return this.failure;
    }
    for (const subject of this.subjects) {
      await this.learn(subject);
      for (const probe of rowsOf(subject, () => this.freshId())) {
        if (await this.isFailedBy(probe(), subject.model)) return this.failure;
      }
      await this.audit(subject);
    }
    return this.failure;
  }

  private async isFailedBy(probe: Probe, model: StoreModel | undefined): Promise<boolean> {
    const { fault } = await this.check(probe, model);
    if (fault !== undefined) this.failure = { ...fault, seed: this.seed };
    return this.isFailed();
  }

  close(): void {
    for (const connection of this.connections) connection.close();
  }

  /** Spread over all int64, and never the same: multiplying by an odd number loses nothing. */
  freshId(): bigint {
    this.freshIds++;
    const mixed = (BigInt(this.seed >>> 0) << 32n) ^ this.freshIds;
    return BigInt.asIntN(64, mixed * 0x9e3779b97f4a7c15n);
  }

  private async work(
    subject: Subject,
    cases: Iterator<NumberedCase, never>,
    connection: Transport,
    needsMore: () => boolean,
  ): Promise<void> {
    while (!this.isFailed() && needsMore()) {
      const { one, seed, index } = cases.next().value;
      const fault = await this.checkCase(one, subject, connection);
      if (fault === undefined || this.isFailed()) continue;
      this.failure = { ...fault, seed };
      this.failure = { ...(await this.shrink(fault, subject, seed, index, connection)), seed };
    }
  }

  /** Other workers may have found a failure while one waited. */
  private isFailed(): boolean {
    return this.failure !== undefined;
  }

  private async checkCase(
    { first, second, steps }: Case,
    { cases, model }: Subject,
    connection: Transport,
  ): Promise<Fault | undefined> {
    const fresh = cases?.freshKeys(this.freshId()) ?? {};
    const probe = first(fresh);
    const { fault, created } = await this.check(probe, model, connection);
    const { expected } = probe;
    const content = expected.kind === 'done' ? expected.content : {};
    const keys = created ?? pickKeys(content, cases) ?? fresh;
    const isCreate = expected.kind === 'done' && probe.operation === cases?.collection.create;
    const others = [
      ...(second !== undefined && isCreate ? [() => second(content)] : []),
      ...steps.map((step) => () => step(keys)),
    ];
    let found = fault;
    for (const make of others) found ??= (await this.check(make(), model, connection)).fault;
    return found;
  }

  /** Makes the same case again, then smaller ones, as long as the same check fails. */
  private async shrink(
    first: Fault,
    subject: Subject,
    seed: number,
    index: number,
    connection: Transport,
  ): Promise<Fault> {
    let smallest = first;
    const property = fc.asyncProperty(subject.any, async (one) => {
      const fault = await this.checkCase(one, subject, connection);
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

  /** Sends one request, in the turn of what it is about. */
  private async check(
    probe: Probe,
    model: StoreModel | undefined,
    connection = this.connections[0],
  ): Promise<Outcome> {
    if (connection === undefined) throw new TypeError('a fuzzer needs a connection');
    const { expected, operation } = probe;
    if (expected.kind === 'methods') return this.ask(probe, expected, model, connection);
    if (expected.kind === 'error') {
      return this.ask(probe, { ...expected, errors: [expected.error] }, model, connection);
    }
    if (model === undefined || operation === undefined) {
      return this.ask(probe, wantedOfOther(operation, expected), model, connection);
    }
    const { collection } = model;
    const [target = ''] = probe.request.target.split('?');
    if (operation === collection.list) {
      const ask = (): Promise<Outcome> =>
        this.ask(probe, wantedOfList(expected, operation, model), model, connection);
      return await model.inTurnOfAll(ask);
    }
    if (operation !== collection.create) {
      return await model.inTurn(target, () => this.askForItem(probe, target, model, connection));
    }
    const isKnown = collection.keys.every((name) => name in expected.content);
    if (!isKnown) {
      const wanted = wantedOfCreate(expected.content, operation, model, undefined);
      const outcome = await this.ask(probe, wanted, model, connection);
      return outcome;
    }
    const path = model.pathOf(target, expected.content);
    return await model.inTurn(path, async () => {
      const wanted = wantedOfCreate(expected.content, operation, model, model.get(path));
      return await this.ask(probe, wanted, model, connection, path);
    });
  }

  private async askForItem(
    probe: Probe,
    path: string,
    model: StoreModel,
    connection: Transport,
  ): Promise<Outcome> {
    const { expected, operation } = probe;
    if (expected.kind !== 'done' || operation === undefined) throw new TypeError('not for an item');
    const entry = model.get(path);
    if (entry !== undefined && entry.etag === undefined && expected.conditions.length > 0) {
      const read = model.collection.item.get('GET');
      const request = makeEmptyRequest('GET', path);
      const wanted: Wanted = { kind: 'stored', entry };
      const first: Probe = { request, operation: read, expected };
      const { fault } = await this.ask(first, wanted, model, connection, path);
      if (fault !== undefined) return { fault };
    }
    const request = { ...probe.request, headers: withEtag(probe.request.headers, entry?.etag) };
    const wanted = wantedOfItem(expected, operation, model, entry);
    return await this.ask({ ...probe, request }, wanted, model, connection, path);
  }

  private async ask(
    { request, operation, expected, verdict }: Probe,
    wanted: Wanted,
    model: StoreModel | undefined,
    connection: Transport,
    path?: string,
  ): Promise<Outcome> {
    if (++this.requests % 1_000 === 0) this.onThousand();
    let answer: HttpAnswer;
    try {
      answer = await connection.send(request);
    } catch (error) {
      return { fault: { faults: [`valid_http: ${String(error)}`], request } };
    }
    this.count(answer);
    const isDone = expected.kind === 'done' && answer.status < 400;
    if (isDone && operation !== undefined) this.carriedOut.add(nameOf(operation));
    const faults = faultsOf({ request, answer, operation, wanted, verdict, model }, this.document);
    const created = model && this.remember(wanted, answer, model, operation, path);
    return faults.length > 0
      ? { fault: { faults, request, answer } }
      : { ...(created && { created }) };
  }

  /** What the answer says of what is stored from now on; the keys of what was created. */
  private remember(
    wanted: Wanted,
    answer: HttpAnswer,
    model: StoreModel,
    operation: DocumentedOperation | undefined,
    path: string | undefined,
  ): Content | undefined {
    if ((wanted.kind === 'stored' || wanted.kind === 'unmodified') && answer.status < 400) {
      wanted.entry.etag ??= answer.headers.etag;
    }
    if (answer.status >= 300) return undefined;
    if (wanted.kind === 'removed' && path !== undefined) model.delete(path);
    if (wanted.kind !== 'written') return undefined;
    if (path !== undefined) {
      model.set(path, wanted.text);
      return undefined;
    }
    // The service has chosen the keys.
    const body = jsonOf({ body: answer.body }) === undefined ? {} : readExactly(answer.body);
    const {
      text,
      keys,
      path: created,
    } = model.withKeysOf(body, wanted.text, operation?.path ?? '');
    model.set(created, text);
    return keys;
  }

  private count({ status, body }: HttpAnswer): void {
    const parsed = status >= 400 ? jsonOf({ body }) : undefined;
    const key = isError(parsed) ? `${status} ${parsed.error}` : String(status);
    this.seen.set(key, (this.seen.get(key) ?? 0) + 1);
  }

  /** Takes what is stored already for what must be stored. */
  private async learn({ model }: Subject): Promise<void> {
    for (const other of this.subjects)
      other.model?.keys(KNOWN_KEYS).forEach((key) => this.document.knownKeys.add(key));
    if (model === undefined || this.isFailed()) return;
    const stored = await model.inTurnOfAll(() => this.walk(model));
    if (stored === undefined) return;
    // What refers to other things may have gone with them.
    for (const path of [...model.paths]) if (!stored.has(path)) model.delete(path);
    for (const [path, text] of stored) model.set(path, text);
  }

  /** Compares all that is stored with all that must be. */
  private async audit({ model }: Subject): Promise<void> {
    if (model === undefined || this.isFailed()) return;
    await model.inTurnOfAll(() => this.compare(model));
  }

  private async compare(model: StoreModel): Promise<void> {
    const sort = model.collection.list?.parameters.find(({ name }) => name === 'sort');
    for (const order of [undefined, ...(sort?.schema.enum ?? [])]) {
      const stored = await this.walk(model, order === undefined ? '' : `&sort=${order as string}`);
      if (stored !== undefined) this.compareWith(stored, model);
    }
  }

  private compareWith(stored: ReadonlyMap<string, string>, model: StoreModel): void {
    const strange = [...stored].filter(([path, text]) => model.get(path)?.text !== text);
    const lost = [...model.paths].filter((path) => !stored.has(path));
    const faults = [
      ...strange.map(([path, text]) => `right_store: nobody stored ${path} ${text.slice(0, 200)}`),
      ...lost.map((path) => `right_store: ${path} is lost`),
    ];
    if (faults.length > 0) this.failure = { faults: faults.slice(0, SHOWN), seed: this.seed };
  }

  /** Everything on every page; undefined for a collection that has none, or one for each of others. */
  private async walk(model: StoreModel, query = ''): Promise<Map<string, string> | undefined> {
    const { list } = model.collection;
    const [connection] = this.connections;
    const hasPages = list?.parameters.some(({ name }) => name === 'limit') === true;
    if (!hasPages || list.path.includes('{') || connection === undefined) return undefined;
    const stored = new Map<string, string>();
    const first = `${list.path}?limit=${PAGE}${query}`;
    for (let target: string | undefined = first; target !== undefined;) {
      const request = makeEmptyRequest('GET', target);
      try {
        const answer = await connection.send(request);
        for (const [path, text] of itemsIn(answer.body, model)) {
          if (stored.has(path)) throw new SyntaxError(`${path} is on two pages`);
          stored.set(path, text);
        }
        target = nextPageOf(answer);
      } catch (error) {
        const check = error instanceof SyntaxError ? 'right_store' : 'valid_http';
        this.failure = { faults: [`${check}: ${String(error)}`], request, seed: this.seed };
        return undefined;
      }
    }
    return stored;
  }
}

/** @throws SyntaxError when it is no page */
function itemsIn(body: string, model: StoreModel): [path: string, text: string][] {
  const items = readExactly(body);
  if (!Array.isArray(items)) throw new SyntaxError('the page is no array');
  return items.map((item: Record<string, unknown>) => [
    pathOfItem(item, model),
    model.exactText(item),
  ]);
}

interface NumberedCase {
  readonly one: Case;
  readonly seed: number;
  readonly index: number;
}

/** The cases of a seed, in batches of which only one is in memory. */
function* casesOf(any: fc.Arbitrary<Case>, firstSeed: number): Generator<NumberedCase, never> {
  for (let seed = firstSeed; ; seed = (seed + 1) | 0) {
    const cases = fc.sample(any, { seed, numRuns: BATCH });
    for (const [index, one] of cases.entries()) yield { one, seed, index };
  }
}

function subjectsOf(document: ApiDocument): Subject[] {
  // What has several keys refers by them to others, which come first.
  const collections = document.collections.toSorted((a, b) => a.keys.length - b.keys.length);
  const subjects = collections.map((collection): Subject => {
    let cases: CollectionCases | undefined;
    return {
      operations: drawOperations(collection),
      model: new StoreModel(collection),
      // Made once the things that its members may refer to are known.
      get cases() {
        return (cases ??= new CollectionCases(collection, document));
      },
      get any() {
        return (cases ??= new CollectionCases(collection, document)).any;
      },
    };
  });
  const known = subjects.flatMap(({ operations }) => operations);
  const others = document.operations.filter((operation) => !known.includes(operation));
  if (others.length === 0) return subjects;
  const any = fc
    .oneof(...others.map((operation) => new Probes(operation, document).any))
    .map((first): Case => ({ first, second: undefined, steps: [] }));
  return [...subjects, { operations: others, any }];
}

function drawOperations({ create, list, item }: Collection): DocumentedOperation[] {
  return [create, ...(list ? [list] : []), ...item.values()];
}

/** Requests with one flaw each, and with each precondition. */
function* rowsOf({ cases, model }: Subject, freshId: () => bigint): Generator<() => Probe> {
  if (cases === undefined || model === undefined) return;
  const { create, list, item } = cases;
  const [good] = fc.sample(create.good, { seed: 1, numRuns: 1 });
  if (good === undefined) return;
  for (const row of create.rows(true)) yield () => row(cases.freshKeys(freshId()));
  for (const row of list?.rows() ?? []) yield () => row({});
  const keys = cases.freshKeys(freshId());
  const path = model.pathOf(model.collection.create.path, keys);
  for (const probes of item) {
    for (const row of probes.rows()) {
      if (model.get(path) === undefined) yield () => good(keys);
      yield () => row(keys);
    }
    for (const row of probes.conditionRows()) {
      // On what is not there, and on what is.
      const fresh = cases.freshKeys(freshId());
      for (const make of [row, good, row]) yield () => make(fresh);
    }
  }
}

function pickKeys(content: Content, cases: CollectionCases | undefined): Content | undefined {
  const names = cases?.collection.keys ?? [];
  if (names.length === 0 || !names.every((name) => name in content)) return undefined;
  return Object.fromEntries(names.map((name) => [name, content[name]]));
}

/** The name of the first check that failed. */
function checkOf({ faults }: Fault): string | undefined {
  return faults[0]?.split(':')[0];
}

/** A failure for people to read. */
export function describeFailure({ faults, request, answer, seed }: Failure): string {
  const status = answer === undefined ? '' : `${answer.status} ${answer.body.slice(0, 1_000)}`;
  return [
    ...faults,
    `--- request (seed ${seed})`,
    request === undefined ? '' : textOf(request),
    '--- answer',
    status,
    `--- again: npm run prove -- fuzz --seed ${seed} --requests ${BATCH}`,
    'If it passes alone, it depends on what came before: run the whole again with its own seed.',
  ].join('\n');
}
