import fc from 'fast-check';
import type { ApiDocument, Collection, SchemaObject } from './api-document.js';
import { listTypes } from './api-document.js';
import { styleArbitrary } from './body.arbitrary.js';
import { isUuid } from './formats.js';
import { type Probe, type ProbeMaker, Probes, strayProbes } from './probe.arbitrary.js';
import { getBounds } from './schema.arbitrary.js';

export type Content = Readonly<Record<string, unknown>>;

/** Requests to send one after another. Each is made once the outcomes of those before are known. */
export interface Case {
  /** The first request, with unused keys. */
  readonly first: ProbeMaker;
  /** Another create with the keys of the first one. */
  readonly second: ((content: Content) => Probe) | undefined;
  /** Requests about the created item. */
  readonly steps: readonly ProbeMaker[];
}

/** The weights of the requests about one item, by method. */
const WEIGHTS: Readonly<Record<string, number>> = { GET: 4, PUT: 4, PATCH: 4, DELETE: 2 };

function weighted<T>(weight: number, arbitrary: fc.Arbitrary<T>): fc.WeightedArbitrary<T> {
  return { weight, arbitrary };
}

/** Makes requests about the items of a collection. */
export class CollectionCases {
  readonly any: fc.Arbitrary<Case>;
  readonly create: Probes;
  readonly list: Probes | undefined;
  readonly item: readonly Probes[];

  constructor(
    readonly collection: Collection,
    private readonly document: ApiDocument,
  ) {
    const { create, list, item } = collection;
    this.create = new Probes(create, document);
    this.list = list && new Probes(list, document);
    this.item = [...item.values()].map((operation) => new Probes(operation, document));
    const stray = fc.constantFrom(...strayProbes(document)).map(
      (probe): ProbeMaker =>
        () =>
          probe,
    );
    const others = this.item.map((probes) =>
      weighted(WEIGHTS[probes.operation.method] ?? 2, probes.any.map(withoutKeys)),
    );
    const lists = this.list === undefined ? [] : [weighted(2, this.list.any)];
    const steps = this.item.map((probes) =>
      weighted(WEIGHTS[probes.operation.method] ?? 2, probes.any),
    );
    this.any = fc.record({
      first: fc.oneof(
        weighted(100, this.create.any),
        weighted(20, this.create.any.map(withoutKeys)),
        weighted(10, fc.oneof(...others)),
        weighted(6, stray),
      ),
      second: this.second(),
      steps: fc.oneof(
        weighted(1, fc.constant([])),
        weighted(
          1,
          fc.array(fc.oneof(...steps, ...lists, weighted(2, this.create.any)), {
            minLength: 1,
            maxLength: 5,
          }),
        ),
      ),
    });
  }

  /** The same item in another spelling, or one with a small difference. */
  private second(): fc.Arbitrary<Case['second']> {
    const { keys, create } = this.collection;
    const schema = create.bodySchema ?? {};
    const changes: ((content: Content) => Content)[] = [
      (content) => content,
      (content) => makeNearKeys(content, keys),
      ...Object.entries(schema.properties ?? {})
        .filter(([name]) => !keys.includes(name))
        .map(
          ([name, member]) =>
            (content: Content) =>
              slightlyChanged(content, name, schema.required?.includes(name) === true, member),
        ),
    ];
    const made = fc
      .tuple(fc.constantFrom(...changes), styleArbitrary)
      .map(([change, style]): Case['second'] => {
        return (content) => this.create.withContent(change(content), style);
      });
    return fc.oneof(weighted(6, fc.constant(undefined)), weighted(1, made));
  }

  /**
   * Makes unused keys, as far as clients choose them. For a key of several members, each refers to
   * another item if such keys are known.
   */
  freshKeys(fresh: bigint): Content {
    const { keys, create } = this.collection;
    const others = keys.length > 1 ? [...this.document.knownKeys] : [];
    const known = keys.flatMap((name, place) => {
      const schema = create.bodySchema?.properties?.[name];
      if (schema === undefined) return [];
      const fitting = others.filter((text) => mayBeKey(schema, text));
      const index = Number(BigInt.asUintN(16, fresh >> BigInt(16 * place))) % fitting.length;
      const other = fitting[index];
      const isInteger = listTypes(schema).includes('integer');
      if (other !== undefined) return [[name, isInteger ? BigInt(other) : other] as const];
      const key = freshKey(schema, fresh);
      return key === undefined ? [] : [[name, key] as const];
    });
    return Object.fromEntries(known);
  }
}

/** Makes a probe with its own keys, which others may have too. */
function withoutKeys(make: ProbeMaker): ProbeMaker {
  return () => make({});
}

const INTEGER = /^-?\d+$/;

/** Whether a text may be a key of something that such a member refers to. */
function mayBeKey(schema: SchemaObject, text: string): boolean {
  const { format, minLength = 0, maxLength = Infinity } = schema;
  if (listTypes(schema).includes('integer')) {
    const [min, max] = getBounds(schema);
    return INTEGER.test(text) && BigInt(text) >= min && BigInt(text) <= max;
  }
  if (format !== undefined) return format === 'uuid' && isUuid(text);
  const { length } = Array.from(text);
  const isOther = INTEGER.test(text) || isUuid(text);
  return !isOther && length >= minLength && length <= maxLength;
}

function freshKey(schema: SchemaObject, fresh: bigint): unknown {
  const [type] = listTypes(schema);
  if (type === 'integer') {
    const [min, max] = getBounds(schema);
    const range = max - min + 1n;
    return min + ((((fresh - min) % range) + range) % range);
  }
  const hex = BigInt.asUintN(64, fresh).toString(16).padStart(16, '0');
  if (schema.format === 'uuid') {
    return `00000000-0000-4000-8${hex.slice(0, 3)}-${hex.slice(3, 15)}`.replace(
      /.$/,
      hex.slice(15),
    );
  }
  if (type !== 'string' || schema.format !== undefined) return undefined;
  const { minLength = 0, maxLength = Infinity } = schema;
  return `key-${hex}`.padStart(minLength, '0').slice(-maxLength);
}

/** Makes an integer that is the same double as the given one. */
function makeNearKeys(content: Content, keys: readonly string[]): Content {
  const changed = keys.flatMap((name) => {
    const key = content[name];
    return typeof key === 'bigint' ? [[name, key ^ 1n] as const] : [];
  });
  return { ...content, ...Object.fromEntries(changed) };
}

/** Adds, removes or changes one member, if the schema is known to allow that. */
function slightlyChanged(
  content: Content,
  name: string,
  isRequired: boolean,
  schema: SchemaObject,
): Content {
  const { [name]: value, ...others } = content;
  if (value !== undefined && !isRequired) return others;
  const { format, maxLength, minLength = 0 } = schema;
  const isFree =
    listTypes(schema).includes('string') && format === undefined && maxLength === undefined;
  if (!isFree || schema.enum !== undefined) return content;
  return { ...content, [name]: typeof value === 'string' ? `${value}a` : 'a'.repeat(minLength) };
}
