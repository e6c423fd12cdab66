import fc from 'fast-check';
import { ErrorCatalogue, type ErrorKind } from '../../src/platform/errors/error-catalogue.js';
import type { Field, Framing, HttpRequest } from '../support/http/request.js';
import { AUTHORIZATION, makeRequest } from '../support/plant-requests.js';
import type { ApiDocument, DocumentedOperation } from './api-document.js';
import {
  Bodies,
  type Body,
  BODY_LIMIT,
  type BodyMaker,
  padTo,
  type Verdict,
} from './body.arbitrary.js';
import { type Condition, CONDITIONS, toFields } from './conditions.js';
import * as headers from './headers.js';
import { writePath, type Target, type TargetMaker, Targets } from './target.arbitrary.js';

/** The expected answer to a request. */
export type Expected =
  /** The Error shape; the message has these names. */
  | { readonly kind: 'error'; readonly error: number; readonly names?: readonly string[] }
  /** The methods of its path. */
  | { readonly kind: 'methods' }
  /** It succeeds, or is refused because of the stored items. */
  | {
      readonly kind: 'done';
      readonly content: Readonly<Record<string, unknown>>;
      readonly conditions: readonly Condition[];
      readonly query: ReadonlyMap<string, string>;
    };

/** A request with the answer that it must get. */
export interface Probe {
  readonly request: HttpRequest;
  /** Undefined for an unknown path. */
  readonly operation: DocumentedOperation | undefined;
  readonly expected: Expected;
  /** Of the body, when it is what the answer depends on. */
  readonly verdict?: Verdict;
}

/** Makes a request about the item with these keys. */
export type ProbeMaker = (keys: Readonly<Record<string, unknown>>) => Probe;

/** Some headers, and the error that they cause, if any. */
interface Part {
  readonly fields: readonly Field[];
  readonly error?: ErrorKind;
}

/** The parts of a request. */
interface Parts {
  readonly method: string;
  readonly target: TargetMaker;
  readonly token: Part;
  readonly mediaType: Part;
  readonly encoding: Part;
  readonly extra: readonly Field[];
  readonly conditions: readonly Condition[];
  readonly body: BodyMaker;
  readonly framing: Framing;
  readonly pause: boolean;
}

const { TOKEN_MISSING, TOKEN_REFUSED, UNSUPPORTED_MEDIA_TYPE } = ErrorCatalogue;

function part(field: Field | undefined, error?: ErrorKind): Part {
  return { fields: field === undefined ? [] : [field], ...(error !== undefined && { error }) };
}

/** Draws the usual value this many times as often as another. */
function mostly<T>(weight: number, usual: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: others });
}

const GOOD_TOKEN = part(AUTHORIZATION);
const TOKENS: readonly Part[] = [
  ...headers.ACCEPTED.map((field) => part(field)),
  ...headers.MISSING.map((field) => part(field, TOKEN_MISSING)),
  ...headers.REFUSED_TOKENS.map((text) => part(['Authorization', `Bearer ${text}`], TOKEN_REFUSED)),
];

const ENCODINGS: readonly Part[] = [
  ...['identity', 'Identity'].map((name) => part(['Content-Encoding', name])),
  ...headers.CONTENT_ENCODINGS.map((name) =>
    part(['Content-Encoding', name], UNSUPPORTED_MEDIA_TYPE),
  ),
];

const extraFields = fc.array(fc.constantFrom(...headers.EXTRA_FIELDS), {
  minLength: 1,
  maxLength: 3,
});
const EMPTY: Body = { bytes: Buffer.alloc(0), verdict: { kind: 'unreadable' } };

const framing: fc.Arbitrary<Framing> = mostly<Framing>(
  5,
  'length',
  fc.oneof(
    { weight: 2, arbitrary: fc.constant<Framing>('length') },
    {
      weight: 5,
      arbitrary: fc
        .array(fc.oneof(fc.constantFrom(1, 7, 64, 4_096), fc.nat(60_000)), { maxLength: 40 })
        .map((sizes): Framing => ({ chunks: sizes.map((size) => size + 1) })),
    },
    { weight: 1, arbitrary: fc.constant<Framing>('none') },
  ),
);

const conditions: fc.Arbitrary<readonly Condition[]> = mostly<readonly Condition[]>(
  2,
  [],
  fc.uniqueArray(fc.constantFrom(...CONDITIONS), {
    selector: ({ header }) => header,
    minLength: 1,
  }),
);

/** Of an operation that takes no JSON. */
const otherBody: fc.Arbitrary<BodyMaker> = fc
  .constantFrom('', '{"id":1,"name":"a"}', 'null\n', '{')
  .map((text) => () => ({ bytes: Buffer.from(text), verdict: { kind: 'good', content: {} } }));

/** Makes requests to one operation, with the answers that the document requires. */
export class Probes {
  /** Of every kind: most are good. */
  readonly any: fc.Arbitrary<ProbeMaker>;
  /** Valid requests, which succeed if the stored items allow it. */
  readonly good: fc.Arbitrary<ProbeMaker>;
  /** The methods that the operation accepts. */
  private readonly methods: readonly string[];
  /** These, and those that its path does not have. */
  private readonly allMethods: readonly string[];
  private readonly targets: Targets;
  private readonly bodies: Bodies | undefined;
  private readonly mediaTypes: readonly Part[];
  private readonly hasConditions: boolean;
  /** Without a flaw. */
  private readonly usual: Parts;

  constructor(
    readonly operation: DocumentedOperation,
    document: ApiDocument,
  ) {
    const { method, path, bodySchema, parameters } = operation;
    const documented = document.methods(path.replaceAll(/[{}]/g, '')) ?? [];
    this.methods = method === 'GET' ? [method, 'HEAD'] : [method];
    // Other operations of the same path handle their own methods.
    const others = documented.includes('GET') ? [...documented, 'HEAD'] : documented;
    this.allMethods = headers.METHODS.filter(
      (one) => this.methods.includes(one) || !others.includes(one),
    );
    this.targets = new Targets(operation, document);
    this.bodies = bodySchema && new Bodies(operation, document);
    this.mediaTypes = listMediaTypes(operation);
    this.hasConditions = parameters.some(({ name }) => name === 'If-Match');
    const goodBody = this.bodies?.good ?? otherBody;
    const [target] = fc.sample(this.targets.good, { seed: 1, numRuns: 1 });
    const [body] = fc.sample(goodBody, { seed: 1, numRuns: 1 });
    if (target === undefined || body === undefined) throw new TypeError('nothing was drawn');
    this.usual = {
      method,
      target,
      token: GOOD_TOKEN,
      mediaType: this.mediaTypes[0] ?? { fields: [] },
      encoding: { fields: [] },
      extra: [],
      conditions: [],
      body,
      framing: 'length',
      pause: false,
    };
    this.good = fc
      .record({ target: this.targets.good, body: goodBody })
      .map((parts) => this.maker(parts));
    this.any = fc
      .record({
        method: mostly(40, method, fc.constantFrom(...this.allMethods)),
        target: this.targets.any,
        token: mostly(9, GOOD_TOKEN, fc.constantFrom(...TOKENS)),
        mediaType: mostly(12, this.usual.mediaType, fc.constantFrom(...this.mediaTypes)),
        encoding: mostly(40, this.usual.encoding, fc.constantFrom(...ENCODINGS)),
        extra: mostly<readonly Field[]>(4, [], extraFields),
        conditions: this.hasConditions ? conditions : fc.constant([]),
        body: this.bodies?.any ?? otherBody,
        framing,
        pause: mostly(5, false, fc.constant(true)),
      })
      .map((parts) => this.maker(parts));
  }

  /**
   * Every flaw once, in a request that is otherwise valid.
   *
   * @param withSyntax whether every way not to be JSON as well
   */
  rows(withSyntax = false): ProbeMaker[] {
    const { bodies } = this;
    const changes: Partial<Parts>[] = [
      ...this.targets.rows().map((target) => ({ target })),
      ...TOKENS.map((token) => ({ token })),
      ...headers.EXTRA_FIELDS.map((field) => ({ extra: [field] })),
      ...this.allMethods.map((method) => ({ method })),
    ];
    if (this.operation.mediaTypes.length > 0) {
      changes.push(
        ...this.mediaTypes.map((mediaType) => ({ mediaType })),
        ...ENCODINGS.map((encoding) => ({ encoding })),
      );
    }
    const rows = changes.map((one) => this.maker(one));
    if (bodies === undefined) return rows;
    const sizes = [-1, 0, 1, 200_000].flatMap((more) =>
      (['length', { chunks: [7, 4_096] }] as const).map((framed): ProbeMaker => (keys) => {
        const body = padTo(BODY_LIMIT + more, this.usual.body(keys));
        return this.makeProbe(
          { ...this.usual, body: () => body, framing: framed, pause: true },
          keys,
        );
      }),
    );
    const bodyRows = bodies.rows(withSyntax).map((body) => this.maker({ body }));
    return [...rows, this.maker({ body: () => EMPTY }), ...sizes, ...bodyRows];
  }

  /** With every precondition; none for an operation that has none. */
  conditionRows(): ProbeMaker[] {
    if (!this.hasConditions) return [];
    return CONDITIONS.map((one) => this.maker({ conditions: [one] }));
  }

  /** With this content, written in one of the ways. */
  withContent(content: Readonly<Record<string, unknown>>, style: readonly number[]): Probe {
    const body = this.bodies?.of(content, style) ?? EMPTY;
    return this.makeProbe({ ...this.usual, body: () => body }, {});
  }

  private maker(changes: Partial<Parts>): ProbeMaker {
    return (keys) => this.makeProbe({ ...this.usual, ...changes }, keys);
  }

  private makeProbe(parts: Parts, keys: Readonly<Record<string, unknown>>): Probe {
    const target = parts.target(keys);
    const { bytes, verdict } = parts.body(keys);
    const request: HttpRequest = {
      method: parts.method,
      target: target.text,
      headers: [
        ...parts.token.fields,
        ...parts.mediaType.fields,
        ...parts.encoding.fields,
        ...toFields(parts.conditions),
        ...parts.extra,
      ],
      body: bytes,
      framing: parts.framing,
      pause: parts.pause,
    };
    const { operation } = this;
    const done: Expected = {
      kind: 'done',
      content: verdict.kind === 'good' ? verdict.content : {},
      conditions: parts.conditions,
      query: target.query ?? new Map(),
    };
    const refusal = this.findRefusal(parts, target);
    if (refusal !== undefined) return { request, operation, expected: refusal };
    if (operation.mediaTypes.length === 0) return { request, operation, expected: done };
    const refused = this.findBodyRefusal(request, parts);
    if (refused !== undefined) return { request, operation, expected: toExpectedError(refused) };
    if (this.bodies === undefined) return { request, operation, expected: done };
    return { request, operation, expected: errorIn(verdict) ?? done, verdict };
  }

  /** Finds the error of the parts that are checked before the body. */
  private findRefusal({ method, token }: Parts, target: Target): Expected | undefined {
    if (target.isUndecodable) return toExpectedError(ErrorCatalogue.MALFORMED_REQUEST);
    if (method === 'OPTIONS') return { kind: 'methods' };
    if (!this.methods.includes(method)) return toExpectedError(ErrorCatalogue.METHOD_NOT_ALLOWED);
    if (token.error !== undefined) return toExpectedError(token.error);
    if (target.query !== undefined) return undefined;
    return { ...toExpectedError(ErrorCatalogue.INVALID_PARAMETERS), names: target.faults };
  }

  /** Finds the error of the parts that are checked before the text of the body. */
  private findBodyRefusal(
    { framing: framed, body }: HttpRequest,
    { mediaType, encoding }: Parts,
  ): ErrorKind | undefined {
    const isJson = this.bodies !== undefined;
    if (isJson && (framed === 'none' || body.length === 0)) return ErrorCatalogue.UNREADABLE_BODY;
    const refused = mediaType.error ?? encoding.error;
    if (refused !== undefined) return refused;
    return isJson && body.length > BODY_LIMIT ? ErrorCatalogue.BODY_TOO_LARGE : undefined;
  }
}

function errorIn(verdict: Verdict): Expected | undefined {
  if (verdict.kind === 'good') return undefined;
  if (verdict.kind === 'unreadable') return toExpectedError(ErrorCatalogue.UNREADABLE_BODY);
  return { ...toExpectedError(ErrorCatalogue.INVALID_BODY), names: verdict.faults };
}

function toExpectedError({ error }: ErrorKind): { readonly kind: 'error'; readonly error: number } {
  return { kind: 'error', error };
}

/** The Content-Types that an operation takes, and others; the first is the usual one. */
function listMediaTypes({ mediaTypes }: DocumentedOperation): Part[] {
  const isTaken = (type: string): boolean => mediaTypes.includes(type);
  const good = mediaTypes.flatMap((type) => headers.SPELLINGS_OF_TYPE.map((spell) => spell(type)));
  const near = mediaTypes.flatMap((type) => headers.NEAR_TYPES.map((spell) => spell(type)));
  const others = headers.OTHER_TYPES.filter((type) => type === undefined || !isTaken(type));
  return [
    ...good.map((type) => part(['Content-Type', type])),
    ...[...near, ...others].map((type) =>
      part(type === undefined ? undefined : ['Content-Type', type], UNSUPPORTED_MEDIA_TYPE),
    ),
  ];
}

/** Makes requests to unknown paths, and to paths that cannot be decoded. */
export function strayProbes(document: ApiDocument): Probe[] {
  const paths = [...new Set(document.operations.map(({ path }) => path))];
  const plain = paths.filter((path) => !path.endsWith('}')).map((path) => writePath(path, {}));
  const near = plain.flatMap((path) => headers.NEAR_PATHS.map((change) => change(path)));
  const unknown = [...near, ...headers.UNKNOWN_PATHS].filter(
    (path) => document.methods(path) === undefined,
  );
  const undecodable = ['', ...plain].flatMap((path) =>
    headers.UNDECODABLE.map((text) => (path === '' ? `/${text}` : path + text)),
  );
  const makeProbe = (target: string, method: string, kind: ErrorKind): Probe => ({
    request: makeRequest('{"id":1,"name":"a"}', { method, target }),
    operation: undefined,
    expected: toExpectedError(kind),
  });
  return ['GET', 'POST', 'DELETE'].flatMap((method) => [
    ...unknown.map((path) => makeProbe(path, method, ErrorCatalogue.NOT_FOUND)),
    ...undecodable.map((path) => makeProbe(path, method, ErrorCatalogue.MALFORMED_REQUEST)),
  ]);
}
