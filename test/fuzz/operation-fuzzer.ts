import fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import { ErrorCatalogue, type ErrorKind } from '../../src/platform/errors/error-catalogue.js';
import type { ApiDocument, DocumentedOperation, ParameterObject } from './api-document.js';
import { conformanceFaults, isError, jsonOf } from './conformance.js';
import type { Field } from './headers.js';
import type { Answer } from './http-answer.js';
import type { Transport } from './http-client.js';
import { type HttpRequest, textOf } from './http-request.js';
import { AUTHORIZATION, CONTENT_TYPE, requestOf } from './requests.js';
import {
  badValues,
  boundsOf,
  goodValue,
  jsonText,
  outOfBounds,
  readExactly,
} from './schema.arbitrary.js';

/** What is wrong with a request, if anything: it decides which answers are right. */
type Flaw = 'none' | 'no token' | 'other token' | 'parameter' | 'body' | 'no JSON' | 'media type';

interface Case {
  readonly operation: DocumentedOperation;
  readonly request: HttpRequest;
  readonly flaw: Flaw;
}

/** What a request is made of. */
interface Parts {
  readonly target: fc.Arbitrary<string>;
  readonly body: fc.Arbitrary<string>;
  readonly headers: readonly Field[];
}

const ERRORS: Readonly<Partial<Record<Flaw, ErrorKind>>> = {
  'no token': ErrorCatalogue.TOKEN_MISSING,
  'other token': ErrorCatalogue.TOKEN_REFUSED,
  parameter: ErrorCatalogue.INVALID_PARAMETERS,
  body: ErrorCatalogue.INVALID_BODY,
  'no JSON': ErrorCatalogue.UNREADABLE_BODY,
  'media type': ErrorCatalogue.UNSUPPORTED_MEDIA_TYPE,
};
/** With which a request without a flaw may be refused: what is stored decides. */
const BY_THE_STORE = [404, 409, 412];
const NOT_INTEGERS = ['x', '1.5', '+1', '01', '1e3', '-0', '1_0', 'null'];
const NOT_JSON = ['', '{', '{"a":1}}', "{'a':1}", '[1,]'];
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Sends requests to every operation that the document has, made of nothing but what it says of them,
 * and checks the answers: a feature is tested so without a line of its own.
 */
export class OperationFuzzer {
  /** Operations that were carried out at least once. */
  readonly carriedOut = new Set<string>();

  constructor(
    private readonly document: ApiDocument,
    private readonly transport: Transport,
    private readonly seed: number,
    /** How many cases of each operation. */
    private readonly cases: number,
  ) {}

  /**
   * Sends requests to all of them, one after another.
   *
   * @throws Error with the first request that was answered wrongly, as small as it could be made
   */
  async run(): Promise<void> {
    const { operations } = this.document;
    const cases = operations.map((operation) => ({ operation, ...this.casesOf(operation) }));
    const send = (one: Case): Promise<void> => this.send(one);
    // Each flaw once, and then those that chance brings.
    for (const one of cases.flatMap(({ flawed }) => flawed)) await this.check(one, send, 1);
    const mixed = cases.map(({ operation: { method }, good, flawed }) => ({
      weight: method === 'POST' ? 4 : method === 'DELETE' ? 1 : 2,
      arbitrary: fc.oneof({ weight: flawed.length, arbitrary: good }, ...flawed.map(once)),
    }));
    await this.check(fc.oneof(...mixed), send, this.cases * operations.length);
    for (const { path } of operations) {
      const target = path.replaceAll(/\{\w+\}/g, '1');
      for (const method of METHODS) {
        if (this.document.operation(method, target) === undefined)
          await this.refuseMethod(method, target);
      }
    }
  }

  /** The operations that create what can be read by its `id`, as the path of another says. */
  get creates(): DocumentedOperation[] {
    return this.document.operations.filter(
      (one) => one.method === 'POST' && this.itemOf(one, 'GET') !== undefined,
    );
  }

  /**
   * Creates, reads, replaces and removes: what was answered is what is read, and no more is.
   *
   * @returns how often it was created
   */
  async runLives(create: DocumentedOperation): Promise<number> {
    const bodyOf = (operation: DocumentedOperation | undefined): fc.Arbitrary<unknown> =>
      goodValue(operation?.bodySchema ?? {}, this.document);
    const replace = this.itemOf(create, 'PUT');
    let lives = 0;
    await this.check(fc.tuple(bodyOf(create), bodyOf(replace)), async ([created, replaced]) => {
      const { id } = created as { readonly id: bigint };
      const path = `${create.path}/${id}`;
      await this.removeAt(create, path);
      if ((await this.sendTo('POST', create.path, created)).status >= 300) return;
      lives++;
      this.expectHolds(await this.sendTo('GET', path), created, path);
      await this.expectListed(create, id);
      if (replace !== undefined) {
        const { status } = await this.sendTo('PUT', path, replaced);
        const held = status === 200 ? replaced : created;
        this.expectHolds(await this.sendTo('GET', path), held, path);
      }
      if (!(await this.removeAt(create, path))) return;
      for (const method of ['GET', 'DELETE']) {
        const { status } = await this.sendTo(method, path);
        if (status !== 404) throw new Error(`use_after_free: ${method} ${path} is ${status}`);
      }
      // It stays, for what refers to it.
      const { status } = await this.sendTo('POST', create.path, created);
      if (status >= 300) throw new Error(`use_after_free: POST ${create.path} is ${status}`);
    });
    return lives;
  }

  /** @returns whether it was removed */
  private async removeAt(create: DocumentedOperation, path: string): Promise<boolean> {
    if (this.itemOf(create, 'DELETE') === undefined) return false;
    return (await this.sendTo('DELETE', path)).status < 300;
  }

  private async sendTo(method: string, target: string, content?: unknown): Promise<Answer> {
    return await this.ask(withBody(method, target, content));
  }

  private async check<T>(
    arbitrary: fc.Arbitrary<T>,
    work: (one: T) => Promise<void>,
    numRuns = this.cases,
  ): Promise<void> {
    await fc.assert(fc.asyncProperty(arbitrary, work), {
      seed: this.seed,
      numRuns,
    });
  }

  private itemOf({ path }: DocumentedOperation, method: string): DocumentedOperation | undefined {
    const create = this.document.operation('POST', path);
    const { properties } = this.document.resolve(create?.bodySchema ?? {});
    return this.document.operations.find(
      (one) =>
        one.method === method &&
        one.path.replace(/\{\w+\}$/, '') === `${path}/` &&
        properties?.id?.type === 'integer' &&
        one.path.endsWith('}'),
    );
  }

  private async send({ operation, request, flaw }: Case): Promise<void> {
    const answer = await this.ask(request);
    const error = ERRORS[flaw];
    if (error !== undefined) expectError(request, answer, error);
    else if (answer.status < 400) this.carriedOut.add(nameOf(operation));
    else if (!BY_THE_STORE.includes(answer.status)) {
      throw faultOf(
        request,
        answer,
        'positive_data_acceptance: by its schemas the request is good',
      );
    }
  }

  private async refuseMethod(method: string, target: string): Promise<void> {
    const request = withBody(method, target);
    expectError(request, await this.ask(request), ErrorCatalogue.METHOD_NOT_ALLOWED);
  }

  /** @throws Error when the answer is not as the document says */
  private async ask(request: HttpRequest): Promise<Answer> {
    const answer = await this.transport.send(request);
    const operation = this.document.operation(request.method, request.target);
    const faults = conformanceFaults({ request, answer, operation }, this.document);
    if (faults.length > 0) throw faultOf(request, answer, ...faults);
    return answer;
  }

  /** Of what was sent, what the answer may hold it does hold. */
  private expectHolds(answer: Answer, sent: unknown, path: string): void {
    if (answer.status !== 200) {
      throw new Error(`ensure_resource_availability: ${path} is ${answer.status}`);
    }
    const wanted = readExactly(jsonText(sent)) as Record<string, unknown>;
    const held = readExactly(answer.body.toString()) as Record<string, unknown>;
    const item = this.document.operation('GET', path)?.responses.get(200)?.members ?? [];
    for (const name of item.filter((one) => one !== 'id' || 'id' in wanted)) {
      if (isDeepStrictEqual(held[name], wanted[name])) continue;
      const [is, was] = [held[name], wanted[name]].map((value) => JSON.stringify(value));
      throw new Error(
        `right_members: ${name} of ${path} is ${is ?? 'missing'}, not ${was ?? 'missing'}`,
      );
    }
  }

  /** Where pages of the collection begin after an id, what was created is the first of one. */
  private async expectListed({ path }: DocumentedOperation, id: bigint): Promise<void> {
    const parameters = this.document.operation('GET', path)?.parameters ?? [];
    const hasPages = ['after', 'limit'].every((name) =>
      parameters.some((one) => one.name === name),
    );
    if (!hasPages || id === boundsOf({ format: 'int64' })[0]) return;
    const answer = await this.sendTo('GET', `${path}?after=${id - 1n}&limit=1`);
    const [first] = readExactly(answer.body.toString()) as { readonly id?: unknown }[];
    if (first?.id !== `${id}n`)
      throw new Error(`right_page: ${path} does not list ${id} after ${id - 1n}`);
  }

  /** Requests without a flaw, and with one each. */
  private casesOf(operation: DocumentedOperation): {
    good: fc.Arbitrary<Case>;
    flawed: fc.Arbitrary<Case>[];
  } {
    const { method, bodySchema } = operation;
    const target = this.targetOf(operation);
    const body =
      bodySchema === undefined
        ? fc.constant('')
        : goodValue(bodySchema, this.document).map(jsonText);
    const make = (
      flaw: Flaw,
      { headers = [AUTHORIZATION, CONTENT_TYPE], ...parts }: Partial<Parts> = {},
    ): fc.Arbitrary<Case> =>
      fc.record({ target, body, ...parts }).map((one) => ({
        operation,
        flaw,
        request: requestOf(one.body, { method, target: one.target, headers }),
      }));
    const flawed = [
      make('no token', { headers: [CONTENT_TYPE] }),
      make('other token', { headers: [CONTENT_TYPE, ['Authorization', 'Bearer x']] }),
      ...this.badTargetsOf(operation).map((bad) => make('parameter', { target: bad })),
    ];
    if (bodySchema !== undefined) {
      const bodies = badValues(bodySchema, this.document);
      flawed.push(
        make('media type', { headers: [AUTHORIZATION, ['Content-Type', 'text/plain']] }),
        ...bodies.map((bad) => make('body', { body: bad.map(jsonText) })),
        ...NOT_JSON.map((text) => make('no JSON', { body: fc.constant(text) })),
      );
    }
    return { good: make('none'), flawed };
  }

  /** The path and query of a request, of good values. */
  private targetOf({ path, parameters }: DocumentedOperation): fc.Arbitrary<string> {
    const [inPath, inQuery] = placesOf(parameters);
    const required = inQuery.filter((one) => one.required === true).map(({ name }) => name);
    return fc
      .tuple(
        fc.record(this.goodTexts(inPath)),
        fc.record(this.goodTexts(inQuery), { requiredKeys: required }),
      )
      .map(([names, query]) => targetOf(path, names, Object.entries(query)));
  }

  private goodTexts(parameters: readonly ParameterObject[]): Record<string, fc.Arbitrary<string>> {
    const texts = parameters.map(({ name, schema, in: place }) => {
      const values = goodValue(schema, this.document).map(String);
      return [name, place === 'path' ? values.filter((text) => text !== '') : values] as const;
    });
    return Object.fromEntries(texts);
  }

  /** One parameter is bad, given twice, or unknown. */
  private badTargetsOf(operation: DocumentedOperation): fc.Arbitrary<string>[] {
    const { path, parameters } = operation;
    const [inPath, inQuery] = placesOf(parameters);
    const good = this.targetOf(operation);
    const names = fc.record(this.goodTexts(inPath));
    const ofQuery = inQuery.flatMap((parameter) => [
      ...badTexts(parameter).map((text) =>
        names.map((its) => targetOf(path, its, [[parameter.name, text]])),
      ),
      fc
        .tuple(names, this.goodTexts([parameter])[parameter.name] ?? fc.constant(''))
        .map(([its, text]) =>
          targetOf(path, its, [
            [parameter.name, text],
            [parameter.name, text],
          ]),
        ),
    ]);
    const ofPath = inPath.flatMap((parameter) =>
      badTexts(parameter).map((text) =>
        names.map((its) => targetOf(path, { ...its, [parameter.name]: text }, [])),
      ),
    );
    const unknown =
      inQuery.length === 0 ? [] : [good.map((target) => withQuery(target, 'other=1'))];
    return [...ofQuery, ...ofPath, ...unknown];
  }
}

function placesOf(parameters: readonly ParameterObject[]): [ParameterObject[], ParameterObject[]] {
  const of = (place: string): ParameterObject[] => parameters.filter((one) => one.in === place);
  return [of('path'), of('query')];
}

/** Texts that a parameter must not be. */
function badTexts({ schema }: ParameterObject): string[] {
  const texts = outOfBounds(schema).map(String);
  // An unpaired surrogate has no UTF-8.
  const encodable = texts.filter((text) => !/\p{Surrogate}/u.test(text));
  switch (schema.type) {
    case 'integer':
      return [...encodable, ...NOT_INTEGERS];
    case 'boolean':
      return ['1', 'TRUE', ''];
    default:
      return [...encodable, 'a\0'];
  }
}

function targetOf(
  path: string,
  names: Readonly<Record<string, string>>,
  query: readonly (readonly [string, string])[],
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(names[name] ?? ''),
  );
  const text = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return text === '' ? filled : `${filled}?${text}`;
}

function withQuery(target: string, parameter: string): string {
  return `${target}${target.includes('?') ? '&' : '?'}${parameter}`;
}

function once<T>(arbitrary: fc.Arbitrary<T>): fc.WeightedArbitrary<T> {
  return { weight: 1, arbitrary };
}

function withBody(method: string, target: string, content?: unknown): HttpRequest {
  return requestOf(content === undefined ? '' : jsonText(content), { method, target });
}

export function nameOf({ method, path }: DocumentedOperation): string {
  return `${method} ${path}`;
}

function expectError(request: HttpRequest, answer: Answer, { error }: ErrorKind): void {
  const body = jsonOf(answer);
  if (answer.status === Math.floor(error / 100) && isError(body) && body.error === error) return;
  throw faultOf(request, answer, `right_error: it has to be ${error}`);
}

function faultOf(request: HttpRequest, answer: Answer, ...faults: string[]): Error {
  const shown = `${answer.status} ${answer.body.toString().slice(0, 1_000)}`;
  return new Error([...faults, '--- request', textOf(request), '--- answer', shown].join('\n'));
}
