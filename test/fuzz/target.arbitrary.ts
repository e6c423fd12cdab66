import fc from 'fast-check';
import {
  type ApiDocument,
  type DocumentedOperation,
  type ParameterObject,
  type SchemaObject,
  listTypes,
} from './api-document.js';
import * as headers from './headers.js';
import { badTexts, goodValue, integersBeyond } from './schema.arbitrary.js';
import { words } from './texts.js';

/** The path and the query of a request to an operation. */
export interface Target {
  readonly text: string;
  /** The parameters of the query; undefined when one of the whole target is wrong. */
  readonly query: ReadonlyMap<string, string> | undefined;
  /** The parameters at fault, as far as they have names. */
  readonly faults: readonly string[];
  /** Whether its path stands for no text at all. */
  readonly isUndecodable: boolean;
}

/** Makes a target; the caller may give the last parameters of its path. */
export type TargetMaker = (keys: Readonly<Record<string, unknown>>) => Target;

/** Texts that are no integers in a path or a query, as they are encoded there. */
const NOT_INTEGERS: readonly string[] = [
  ...words`- -0 +1 %2B1 01 -01 00 1.0 1e3 0x1 1n 1_000 %201 1%20 1%0A %D9%A1 NaN null true a 1;a=b
    1,2 __proto__ 1%00 .. $count * %2F -9223372036854775808.0`,
  '9'.repeat(1_000),
];
/** A parameter whose value a client takes from a link. */
const CURSOR = 'after';

/** A piece of a query, such as `limit=1`, and its fault. */
interface Piece {
  readonly text: string;
  readonly value?: readonly [name: string, value: string];
  readonly faults?: readonly string[];
}

export class Targets {
  /** Of every kind: most are good. */
  readonly any: fc.Arbitrary<TargetMaker>;
  readonly good: fc.Arbitrary<TargetMaker>;
  private readonly inPath: readonly ParameterObject[];
  private readonly inQuery: readonly ParameterObject[];

  constructor(
    private readonly operation: DocumentedOperation,
    private readonly document: ApiDocument,
  ) {
    const of = (place: string): ParameterObject[] =>
      operation.parameters.filter((one) => one.in === place && !isLink(one));
    this.inPath = of('path');
    this.inQuery = of('query');
    const query = this.goodQuery();
    const path = this.goodPath();
    this.good = fc.tuple(path, query).map(([names, pieces]) => this.make(names, pieces));
    const kinds: fc.WeightedArbitrary<TargetMaker>[] = [{ weight: 12, arbitrary: this.good }];
    const bad = this.badPieces();
    if (bad.length > 0) {
      const badQuery = fc.uniqueArray(fc.constantFrom(...bad), { minLength: 1, maxLength: 2 });
      const wrong = fc.tuple(path, query, badQuery).map(([names, pieces, others]) => {
        const rest = pieces.filter(({ value }) => value === undefined);
        return this.make(names, [...rest, ...others]);
      });
      kinds.push({ weight: 3, arbitrary: wrong });
    }
    const badNames = this.badNames();
    if (badNames.length > 0) kinds.push({ weight: 1, arbitrary: fc.constantFrom(...badNames) });
    this.any = fc.oneof(...kinds);
  }

  /** Every parameter with every value that it must not have, once. */
  rows(): TargetMaker[] {
    const [names = {}] = fc.sample(this.goodPath(), { seed: 1, numRuns: 1 });
    const pieces = this.badPieces().map((piece) => this.make(names, [piece]));
    const ignored = this.inQuery.length > 0 ? [] : headers.IGNORED_QUERIES;
    return [
      ...pieces,
      ...this.badNames(),
      ...ignored.map((text) => this.make(names, [{ text: text.slice(1) }])),
    ];
  }

  /** Parameters in the path that the caller does not give. */
  private goodPath(): fc.Arbitrary<Record<string, string>> {
    const names = this.inPath.map(({ name, schema }) => [
      name,
      goodValue(schema, this.document)
        .map((value) => encodeURIComponent(String(value)))
        .filter((text) => !['', '.', '..'].includes(text)),
    ]);
    return fc.record(Object.fromEntries(names) as Record<string, fc.Arbitrary<string>>);
  }

  private goodQuery(): fc.Arbitrary<Piece[]> {
    if (this.inQuery.length === 0) {
      const ignored = headers.IGNORED_QUERIES.map((text): Piece[] => [{ text: text.slice(1) }]);
      return fc.oneof(
        { weight: 12, arbitrary: fc.constant<Piece[]>([]) },
        fc.constantFrom(...ignored),
      );
    }
    const pieces = this.inQuery.map((parameter) => {
      const piece = goodPiece(parameter, this.document);
      if (parameter.required === true) return piece.map((one): Piece[] => [one]);
      return fc.oneof(
        { weight: 2, arbitrary: fc.constant<Piece[]>([]) },
        piece.map((one): Piece[] => [one]),
      );
    });
    const empty = fc.oneof(
      { weight: 20, arbitrary: fc.constant<Piece[]>([]) },
      fc.constant<Piece[]>([{ text: '' }, { text: '' }]),
    );
    return fc.tuple(fc.tuple(...pieces), empty).map(([all, none]) => [...all.flat(), ...none]);
  }

  /** Parameters with values that they must not have, given twice, or unknown. */
  private badPieces(): Piece[] {
    if (this.inQuery.length === 0) return [];
    const known = this.inQuery.map(({ name }) => name);
    const others = ['offset', 'Limit', 'id', 'other', '__proto__', 'constructor'];
    return [
      ...this.inQuery.flatMap(({ name, schema }) => [
        ...notTexts(schema).map((text) => ({ text: `${name}=${text}`, faults: [name] })),
        ...headers.UNDECODABLE.map((text) => ({ text: `${name}=${text}`, faults: [] })),
        ...fc
          .sample(goodValue(schema, this.document), { seed: 1, numRuns: 1 })
          .map((value) => `${name}=${encodeURIComponent(String(value))}`)
          .map((text) => ({ text: `${text}&${text}`, faults: [name] })),
      ]),
      ...others
        .filter((name) => !known.includes(name))
        .map((name) => ({ text: `${name}=1`, faults: [name] })),
      { text: 'limit[]=1', faults: [] },
      ...headers.UNDECODABLE.map((text) => ({ text, faults: [] })),
    ];
  }

  /** Paths of which a parameter is wrong, whatever the others are. */
  private badNames(): TargetMaker[] {
    return this.inPath.flatMap(({ name, schema }) => [
      ...notTexts(schema)
        .filter((text) => text !== '')
        .map((text): TargetMaker => this.withName(name, text, { faults: [name] })),
      ...headers.UNDECODABLE.map((text) => this.withName(name, text, { isUndecodable: true })),
    ]);
  }

  private withName(name: string, text: string, wrong: Partial<Target>): TargetMaker {
    const others = Object.fromEntries(this.inPath.map((one) => [one.name, '1']));
    const whole = writePath(this.operation.path, { ...others, [name]: text });
    const target = { text: whole, query: undefined, faults: [], isUndecodable: false, ...wrong };
    return () => target;
  }

  private make(names: Readonly<Record<string, string>>, pieces: readonly Piece[]): TargetMaker {
    const text = pieces.map((piece) => piece.text).join('&');
    const faults = pieces.flatMap((piece) => (piece.faults === undefined ? [] : [piece.faults]));
    // A query that cannot be decoded has no names.
    const named = faults.some((one) => one.length === 0) ? [] : faults.flat();
    const query = new Map(pieces.flatMap(({ value }) => (value === undefined ? [] : [value])));
    return (keys) => ({
      text:
        writePath(this.operation.path, { ...names, ...encodedKeys(keys) }) +
        (pieces.length > 0 ? `?${text}` : ''),
      query: faults.length > 0 ? undefined : query,
      faults: named,
      isUndecodable: false,
    });
  }
}

/** Cursors are not generated but taken from links. */
function isLink({ name, schema }: ParameterObject): boolean {
  return name === CURSOR && !listTypes(schema).includes('integer');
}

function goodPiece({ name, schema }: ParameterObject, document: ApiDocument): fc.Arbitrary<Piece> {
  const value = goodValue(schema, document)
    .map(String)
    // A target has a shorter limit than a text, and UTF-8 cannot encode an unpaired surrogate.
    .filter((text) => text.length < 500 && !/\p{Surrogate}/u.test(text));
  return fc.tuple(value, fc.nat(9)).map(([text, way]): Piece => {
    const encoded = encodeURIComponent(text);
    const named = way === 0 ? `%${name.charCodeAt(0).toString(16)}${name.slice(1)}` : name;
    const written = way === 1 ? encoded.replaceAll('%20', '+') : encoded;
    const isShort = text === '' && way % 2 === 0;
    return { text: isShort ? named : `${named}=${written}`, value: [name, text] };
  });
}

/** Texts that a parameter must not be, as they are encoded. */
function notTexts(schema: SchemaObject): string[] {
  const [type] = listTypes(schema);
  if (schema.enum !== undefined) return ['', `${schema.enum.map(String).join('')}x`];
  switch (type) {
    case 'integer':
      return ['', ...NOT_INTEGERS, ...integersBeyond(schema).map(String)];
    case 'number':
      return ['', 'a', 'NaN', 'Infinity', '1,5'];
    case 'boolean':
      return ['', '1', 'TRUE', 'yes'];
    default:
      // An unpaired surrogate has no UTF-8.
      return badTexts(schema)
        .filter((text) => !/\p{Surrogate}/u.test(text))
        .map(encodeURIComponent);
  }
}

function encodedKeys(keys: Readonly<Record<string, unknown>>): Record<string, string> {
  const encoded = Object.entries(keys).map(([name, value]) => [
    name,
    encodeURIComponent(String(value)),
  ]);
  return Object.fromEntries(encoded) as Record<string, string>;
}

/** A documented path with what its parameters are. */
export function writePath(path: string, names: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? '1');
}
