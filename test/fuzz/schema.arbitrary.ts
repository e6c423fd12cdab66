import fc from 'fast-check';
import { TEXT_PATTERN } from '../../src/platform/validation/value-types.js';
import { type ApiDocument, type SchemaObject, listTypes } from './api-document.js';
import { FORMATS } from './formats.js';
import { Decimal, jsonText, RawText } from './json-text.js';
import * as texts from './texts.js';

// Values by their JSON Schema.

/** Frequent integers, so that requests concern items of other requests. */
const COMMON = [0n, 1n, 2n, 3n, 9_007_199_254_740_993n];
/** The bounds where a schema sets none, so that cases stay small. */
const MOST = { length: 20, items: 3, depth: 3, keys: 20 };
/** Candidates for texts that a pattern refuses. */
const MAYBE_REFUSED = ['', ' ', 'a', '0', 'a b', '\n', '_', '🌵', 'A0-_.~'];

/** Any of Unicode but U+0000: of ASCII, of the basic plane, of all. */
const character = fc
  .oneof(...[0x7f, 0xffff, 0x10ffff].map((max) => fc.integer({ min: 1, max })))
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));

/** Any Unicode but U+0000. */
export const unicodeText = fc
  .array(character, { maxLength: MOST.length })
  .map((characters) => characters.join(''));

/** The bounds of an integer. */
export function getBounds({ format, minimum, maximum }: SchemaObject): [min: bigint, max: bigint] {
  const bits = format === 'int64' ? 63n : format === 'int32' ? 31n : 53n;
  const least = -(2n ** bits) + (bits === 53n ? 1n : 0n);
  return [
    minimum === undefined ? least : BigInt(Math.ceil(minimum)),
    maximum === undefined ? 2n ** bits - 1n : BigInt(Math.floor(maximum)),
  ];
}

/** Values that a schema accepts. */
export function goodValue(
  schemaOrReference: SchemaObject,
  document: ApiDocument,
  depth = 0,
): fc.Arbitrary<unknown> {
  const schema = document.resolve(schemaOrReference);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.oneOf !== undefined) {
    return fc.oneof(...schema.oneOf.map((one) => goodValue(one, document, depth)));
  }
  const types = listTypes(schema);
  if (types.length === 0) return fc.jsonValue({ maxDepth: 1 });
  return fc.oneof(...types.map((type) => goodOfType(type, schema, document, depth)));
}

function goodOfType(
  type: string,
  schema: SchemaObject,
  document: ApiDocument,
  depth: number,
): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return integer(schema);
    case 'number':
      return number(schema);
    case 'string':
      return text(schema, document);
    case 'array':
      return array(schema, document, depth);
    default:
      return goodObject(schema, document, depth);
  }
}

function integer(schema: SchemaObject): fc.Arbitrary<bigint> {
  const step = BigInt(schema.multipleOf ?? 1);
  const [min, max] = getBounds(schema);
  const isGood = (value: bigint): boolean => value >= min && value <= max && value % step === 0n;
  const edges = [min, max, ...texts.EDGE_INTEGERS].filter(isGood);
  const common = COMMON.filter(isGood);
  const least = min >= 0n ? (min + step - 1n) / step : min / step;
  const most = max >= 0n ? max / step : (max - step + 1n) / step;
  return fc.oneof(
    {
      weight: 6,
      arbitrary: common.length > 0 ? fc.constantFrom(...common) : fc.constant(least * step),
    },
    { weight: 3, arbitrary: fc.constantFrom(least * step, ...edges) },
    { weight: 1, arbitrary: fc.integer({ min: -50, max: 50 }).map(BigInt).filter(isGood) },
    { weight: 2, arbitrary: fc.bigInt({ min: least, max: most }).map((value) => value * step) },
  );
}

function number({
  exclusiveMinimum,
  exclusiveMaximum,
  minimum = exclusiveMinimum ?? -1e9,
  maximum = exclusiveMaximum ?? 1e9,
  multipleOf,
}: SchemaObject): fc.Arbitrary<number | Decimal> {
  if (multipleOf === undefined) {
    const bounds = { min: minimum, max: maximum };
    return fc.double({ ...bounds, noNaN: true, noDefaultInfinity: true });
  }
  const step = Decimal.of(multipleOf);
  let least = stepsWithin(minimum, step);
  let most = stepsWithin(maximum, step);
  if (exclusiveMinimum !== undefined) least += 1n;
  if (exclusiveMaximum !== undefined) most -= 1n;
  const edges = [0n, 1n, -1n, least, most].filter((count) => count >= least && count <= most);
  return fc
    .oneof(fc.constantFrom(least, ...edges), fc.bigInt({ min: least, max: most }))
    .map((count) => step.times(count));
}

/** How many steps are within a bound. One of more digits than a double holds is kept clear of. */
function stepsWithin(bound: number, step: Decimal): bigint {
  const exact = Decimal.of(
    Number.isSafeInteger(bound) || Math.abs(bound) < 1e12 ? bound : bound * (1 - 1e-15),
  );
  const finer = new Decimal(false, '1', Math.min(exact.power, step.power));
  return (exact.dividedBy(finer) ?? 0n) / (step.dividedBy(finer) ?? 1n);
}

function text(
  { format = '', pattern, minLength = 0, maxLength }: SchemaObject,
  { knownKeys }: ApiDocument,
): fc.Arbitrary<string> {
  const known = FORMATS[format];
  if (known?.type === 'string') {
    const keys = [...knownKeys].filter(known.validate).slice(0, MOST.keys);
    return keys.length === 0 ? known.values : fc.oneof(known.values, fc.constantFrom(...keys));
  }
  if (pattern !== undefined && pattern !== TEXT_PATTERN) {
    return fc.stringMatching(new RegExp(pattern, 'u'));
  }
  // The length is in code points, as in JSON Schema.
  const isGood = (value: string): boolean => {
    const { length } = Array.from(value);
    return length >= minLength && length <= (maxLength ?? Infinity);
  };
  const odd = texts.ODD_TEXTS.filter(isGood);
  // Integers come often anyway.
  const keys = [...knownKeys]
    .filter((key) => isGood(key) && !/^-?\d+$/.test(key))
    .slice(0, MOST.keys);
  const unicode = fc
    .array(character, {
      minLength,
      maxLength: Math.min(maxLength ?? Infinity, minLength + MOST.length),
    })
    .map((characters) => characters.join(''));
  const long = fc
    .tuple(fc.constantFrom('a', 'é', '€', '🌵', '\u0301'), fc.constantFrom(300, 5_000, 25_000))
    .map(([character, length]) => character.repeat(length))
    .filter(isGood);
  return fc.oneof(
    { weight: 120, arbitrary: unicode },
    { weight: 100, arbitrary: odd.length > 0 ? fc.constantFrom(...odd) : unicode },
    ...(keys.length > 0 ? [{ weight: 50, arbitrary: fc.constantFrom(...keys) }] : []),
    { weight: maxLength === undefined ? 1 : 0, arbitrary: long },
  );
}

function array(
  schema: SchemaObject,
  document: ApiDocument,
  depth: number,
): fc.Arbitrary<unknown[]> {
  const { items = {}, minItems = 0, maxItems = Infinity, uniqueItems = false } = schema;
  const bounds = { minLength: minItems, maxLength: Math.min(maxItems, minItems + MOST.items) };
  const item = goodValue(items, document, depth + 1);
  if (!uniqueItems) return fc.array(item, bounds);
  return fc.uniqueArray(item, { ...bounds, selector: (one) => jsonText(one) });
}

/** @param depth of how many others it is a part: a schema may refer to itself */
function goodObject(schema: SchemaObject, document: ApiDocument, depth = 0): fc.Arbitrary<object> {
  const { properties, required = [], additionalProperties = false } = schema;
  if (properties === undefined && additionalProperties) {
    const name = fc.string().filter((text) => text !== '__proto__');
    return fc.dictionary(name, fc.jsonValue({ maxDepth: 1 }), {
      maxKeys: 3,
      noNullPrototype: true,
    });
  }
  const members = Object.entries(properties ?? {})
    .filter(([name]) => depth < MOST.depth || required.includes(name))
    .map(([name, member]) => [name, goodValue(member, document, depth + 1)] as const);
  return fc.record(Object.fromEntries(members), {
    requiredKeys: [...required],
    noNullPrototype: true,
  });
}

/** Values that a schema refuses, of each kind one; none where it accepts everything. */
export function badValues(schemaOrReference: SchemaObject, document: ApiDocument): unknown[] {
  const schema = document.resolve(schemaOrReference);
  const types = listTypes(schema);
  if (types.length === 0 && schema.enum === undefined) return [];
  const others = Object.entries(texts.TEXTS_OF_TYPES)
    .filter(([type]) => !types.includes(type) && !(type === 'number' && types.includes('integer')))
    .flatMap(([, values]) => values);
  return [...others.map((value) => new RawText(value)), ...outOfBounds(schema, document)];
}

/** Values of a right type that a rule refuses. */
function outOfBounds(schema: SchemaObject, document: ApiDocument): unknown[] {
  const types = listTypes(schema);
  if (schema.enum !== undefined)
    return types.includes('string') ? [`${schema.enum.join('')}!`] : [];
  return types.flatMap((type) => {
    switch (type) {
      case 'integer':
        return [...integersBeyond(schema), ...notIntegers(schema)];
      case 'number':
        return numbersBeyond(schema);
      case 'string':
        return badTexts(schema);
      case 'array':
        return badArrays(schema, document);
      case 'object':
        return badObjects(schema, document);
      default:
        return [];
    }
  });
}

/** Integers past either bound, where there is one. */
export function integersBeyond(schema: SchemaObject): unknown[] {
  const { format, minimum, maximum, multipleOf } = schema;
  const [min, max] = getBounds(schema);
  return [
    ...(format !== undefined || minimum !== undefined ? [min - 1n] : []),
    ...(format !== undefined || maximum !== undefined ? [max + 1n] : []),
    ...(multipleOf === undefined || multipleOf === 1 ? [] : [BigInt(multipleOf) + 1n]),
  ];
}

function notIntegers({ format, minimum, maximum }: SchemaObject): unknown[] {
  const isBounded = format !== undefined || (minimum !== undefined && maximum !== undefined);
  const far = [...texts.FAR_INTEGERS, ...texts.FAR_EXPONENTS.map((one) => new RawText(one))];
  return [...texts.FRACTIONS, ...(isBounded ? far : [])];
}

function numbersBeyond({
  exclusiveMinimum,
  exclusiveMaximum,
  minimum = exclusiveMinimum,
  maximum = exclusiveMaximum,
  multipleOf,
}: SchemaObject): unknown[] {
  return [
    ...(minimum === undefined ? [] : [minimum - Math.max(1, Math.abs(minimum))]),
    ...(maximum === undefined ? [] : [maximum + Math.max(1, Math.abs(maximum))]),
    ...(multipleOf === undefined ? [] : [multipleOf / 2]),
  ];
}

export function badTexts(schema: SchemaObject): string[] {
  const { format = '', pattern, minLength = 0, maxLength } = schema;
  const known = FORMATS[format];
  if (known?.type === 'string') return [...known.near];
  const matching = pattern === undefined ? undefined : new RegExp(pattern, 'u');
  const others = MAYBE_REFUSED.filter((one) => matching?.test(one) === false);
  return [
    ...(pattern === TEXT_PATTERN ? texts.POISONS : others),
    ...(minLength > 0 ? ['a'.repeat(minLength - 1)] : []),
    ...(maxLength !== undefined && maxLength < 10_000 ? ['a'.repeat(maxLength + 1)] : []),
  ];
}

function badArrays(schema: SchemaObject, document: ApiDocument): unknown[] {
  const { items = {}, minItems = 0, maxItems, uniqueItems = false } = schema;
  const [good] = fc.sample(goodValue(items, document), { numRuns: 1, seed: 1 });
  return [
    ...(minItems > 0 ? [[]] : []),
    ...(maxItems !== undefined && maxItems < 1_000 ? [Array(maxItems + 1).fill(good)] : []),
    ...(uniqueItems ? [[good, good]] : []),
    ...badValues(items, document).map((bad) => [bad]),
  ];
}

/** Objects of which one member is missing or refused. */
function badObjects(schema: SchemaObject, document: ApiDocument): unknown[] {
  const { properties = {}, required = [] } = schema;
  const sample = (): Record<string, unknown> =>
    fc.sample(goodObject(schema, document), { numRuns: 1, seed: 1 })[0] as Record<string, unknown>;
  const missing = required.map((name) => {
    const entries = Object.entries(sample()).filter(([key]) => key !== name);
    return Object.fromEntries(entries);
  });
  // A schema may refer to itself.
  const simple = Object.entries(properties).filter(([, member]) => member.$ref === undefined);
  const refused = simple.flatMap(([name, member]) =>
    badValues(member, document).map((bad) => ({ ...sample(), [name]: bad })),
  );
  return [...missing, ...refused];
}

/** Numbers that no schema of an integer accepts, of many digits. */
export const anyFraction = fc
  .tuple(fc.boolean(), fc.stringMatching(/^[1-9]\d{0,24}[1-9]$/), fc.integer({ min: -30, max: -1 }))
  .map(([isNegative, digits, power]) => new Decimal(isNegative, digits, power));
