import fc from 'fast-check';
import type { HttpAnswer } from '../support/http/answer.js';
import type { Transport } from '../support/http/client.js';
import { type HttpRequest, textOf } from '../support/http/request.js';
import { makeEmptyRequest } from '../support/plant-requests.js';
import {
  type ApiDocument,
  type Collection,
  type DocumentedOperation,
  getOperationName,
} from './api-document.js';
import { type Case, CollectionCases, type Content } from './case.arbitrary.js';
import { findFaults, readNextPage, writeItemPath, type Wanted } from './checks.js';
import { withEtag } from './conditions.js';
import { isError, parseJson } from './conformance.js';
import { readExactly } from './json-text.js';
import { type Probe, Probes, strayProbes } from './probe.arbitrary.js';
import { StoreModel } from './store-model.js';
import { expectForCreate, expectForItem, expectForList, expectForOther } from './wanted.js';

/**
 * Cases that are generated at a time. Each batch has its own seed, so that it can be repeated
 * alone.
 */
export const BATCH = 200;
/** The items on a page when all are checked. */
const PAGE = 100;
/** How many keys of a collection others may refer to. */
const KNOWN_KEYS = 20;
/** How many faults of the store are reported. */
const SHOWN = 10;
/**
 * How many times its share of the requests a subject may send until each operation has succeeded.
 */
const PATIENCE = 20;

export interface Failure {
  readonly faults: readonly string[];
  /** Undefined if the store is wrong, rather than an answer. */
  readonly request?: HttpRequest | undefined;
  /** undefined when there was none. */
  readonly answer?: HttpAnswer | undefined;
  /** The seed of the batch: with it as the first seed, the case is repeated. */
  readonly seed: number;
}

type Fault = Omit<Failure, 'seed'>;

/** The operations that are fuzzed together: those of a collection, or those of none. */
interface Subject {
  readonly operations: readonly DocumentedOperation[];
  readonly any: fc.Arbitrary<Case>;
  readonly cases?: CollectionCases | undefined;
  readonly model?: StoreModel;
}

/** The outcome of a request: its faults, or the keys of the created item. */
interface Outcome {
  readonly fault?: Fault | undefined;
  readonly created?: Content;
}

/**
 * Sends requests to every operation of the document, generated only from the document, on several
 * connections at once, until one is answered wrongly.
 */
export class Fuzzer {
  /** Answers by status and, of errors, code. */
  readonly seen = new Map<string, number>();
  /** The names of the operations that have succeeded at least once. */
  private readonly carriedOut = new Set<string>();
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
    this.subjects = makeSubjects(document);
  }

  /** How many items are stored in all. */
  get stored(): number {
    return this.subjects.reduce((sum, { model }) => sum + (model?.size ?? 0), 0);
  }

  /** The names of the operations that must succeed and have not yet. */
  get missed(): string[] {
    return this.subjects.flatMap((subject) => this.listMissed(subject));
  }

  /**
   * Lists the operations of a subject that must succeed and have not yet. Outside of collections, an
   * operation with a JSON body need not succeed: the body may have to name existing items, which its
   * schema cannot express.
   */
  private listMissed({ operations, model }: Subject): string[] {
    return operations
      .filter(({ mediaTypes }) => model !== undefined || !mediaTypes.includes('application/json'))
      .map(getOperationName)
      .filter((name) => !this.carriedOut.has(name));
  }

  /** The expected items of the collection at a path. */
  getModel(path: string): StoreModel {
    const models = this.subjects.flatMap(({ model }) => model ?? []);
    const found = models.find(({ collection }) => collection.create.path === path);
    if (found === undefined) throw new TypeError(`nothing is created at ${path}`);
    return found;
  }

  /**
   * Sends this many requests, equally many for each subject, and then checks all stored items. A
   * subject gets more requests while it has {@link missed} operations.
   *
   * @returns the first failure, reduced as far as possible
   */
  async run(requests: number): Promise<Failure | undefined> {
    const share = Math.ceil(requests / this.subjects.length);
    for (const subject of this.subjects) {
      await this.learn(subject);
      const end = this.requests + share;
      const last = this.requests + PATIENCE * share;
      const needsMore = (): boolean =>
        this.requests < end || (this.requests < last && this.listMissed(subject).length > 0);
      const cases = generateCases(subject.any, this.seed);
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
      for (const probe of listRows(subject, () => this.freshId())) {
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

  /**
   * Different ids, spread over all int64 values, since multiplying by an odd number is invertible.
   */
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

  /** Another worker may have found a failure meanwhile. */
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

  /** Repeats the same case, and then smaller ones, as long as the same check fails. */
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
      const isSame = fault !== undefined && findCheck(fault) === findCheck(first);
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

  /** Sends one request, alone among those about the same item. */
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
      return this.ask(probe, expectForOther(operation, expected), model, connection);
    }
    const { collection } = model;
    const [target = ''] = probe.request.target.split('?');
    if (operation === collection.list) {
      const ask = (): Promise<Outcome> =>
        this.ask(probe, expectForList(expected, operation, model), model, connection);
      return await model.inTurnOfAll(ask);
    }
    if (operation !== collection.create) {
      return await model.inTurn(target, () => this.askForItem(probe, target, model, connection));
    }
    const isKnown = collection.keys.every((name) => name in expected.content);
    const path = isKnown ? model.writePath(target, expected.content) : undefined;
    // An item whose keys the service chooses has a turn too: no page is read while it is created.
    return await model.inTurn(path ?? `${target} ${this.freshId()}`, async () => {
      const entry = path === undefined ? undefined : model.get(path);
      const wanted = expectForCreate(expected.content, operation, model, entry);
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
    const wanted = expectForItem(expected, operation, model, entry);
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
    if (isDone && operation !== undefined) this.carriedOut.add(getOperationName(operation));
    const faults = findFaults(
      { request, answer, operation, wanted, verdict, model },
      this.document,
    );
    const created = model && this.remember(wanted, answer, model, operation, path);
    return faults.length > 0
      ? { fault: { faults, request, answer } }
      : { ...(created && { created }) };
  }

  /** Updates the model by the answer, and returns the keys of the created item. */
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
    const body = parseJson({ body: answer.body }) === undefined ? {} : readExactly(answer.body);
    const { text, keys, path: created } = model.addKeys(body, wanted.text, operation?.path ?? '');
    model.set(created, text);
    return keys;
  }

  private count({ status, body }: HttpAnswer): void {
    const parsed = status >= 400 ? parseJson({ body }) : undefined;
    const key = isError(parsed) ? `${status} ${parsed.error}` : String(status);
    this.seen.set(key, (this.seen.get(key) ?? 0) + 1);
  }

  /** Adds the items that are stored already to the model. */
  private async learn({ model }: Subject): Promise<void> {
    for (const other of this.subjects)
      other.model?.keys(KNOWN_KEYS).forEach((key) => this.document.knownKeys.add(key));
    if (model === undefined || this.isFailed()) return;
    const stored = await model.inTurnOfAll(() => this.walk(model));
    if (stored === undefined) return;
    // Items that refer to other items may have been removed with them.
    for (const path of [...model.paths]) if (!stored.has(path)) model.delete(path);
    for (const [path, text] of stored) model.set(path, text);
  }

  /** Compares all stored items with the model. */
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

  /**
   * Reads all items of all pages; undefined for a collection without pages, or with one for each
   * other item.
   */
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
        target = readNextPage(answer);
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
    writeItemPath(item, model),
    model.exactText(item),
  ]);
}

interface NumberedCase {
  readonly one: Case;
  readonly seed: number;
  readonly index: number;
}

/** The cases of a seed, in batches of which only one is in memory. */
function* generateCases(
  any: fc.Arbitrary<Case>,
  firstSeed: number,
): Generator<NumberedCase, never> {
  for (let seed = firstSeed; ; seed = (seed + 1) | 0) {
    const cases = fc.sample(any, { seed, numRuns: BATCH });
    for (const [index, one] of cases.entries()) yield { one, seed, index };
  }
}

function makeSubjects(document: ApiDocument): Subject[] {
  // Items with keys of several members refer to others, which come first.
  const collections = document.collections.toSorted((a, b) => a.keys.length - b.keys.length);
  const subjects = collections.map((collection): Subject => {
    let cases: CollectionCases | undefined;
    return {
      operations: drawOperations(collection),
      model: new StoreModel(collection),
      // Created once the items to which its members may refer are known.
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
function* listRows({ cases, model }: Subject, freshId: () => bigint): Generator<() => Probe> {
  if (cases === undefined || model === undefined) return;
  const { create, list, item } = cases;
  const [good] = fc.sample(create.good, { seed: 1, numRuns: 1 });
  if (good === undefined) return;
  for (const row of create.rows(true)) yield () => row(cases.freshKeys(freshId()));
  for (const row of list?.rows() ?? []) yield () => row({});
  const keys = cases.freshKeys(freshId());
  const path = model.writePath(model.collection.create.path, keys);
  for (const probes of item) {
    for (const row of probes.rows()) {
      if (model.get(path) === undefined) yield () => good(keys);
      yield () => row(keys);
    }
    for (const row of probes.conditionRows()) {
      // For a missing item, and for an existing one.
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
function findCheck({ faults }: Fault): string | undefined {
  return faults[0]?.split(':')[0];
}

/** Describes a failure for people to read. */
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
