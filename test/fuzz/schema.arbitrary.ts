import fc from 'fast-check';
import type { ApiDocument, SchemaObject } from './api-document.js';
import { TEXT_PATTERN } from '../../src/platform/validation/value-types.js';

// Values by their JSON Schema. An integer is a bigint, since a JavaScript number cannot hold every one.

/** Integers that come often, so that requests meet what others have made. */
const COMMON = [0n, 1n, 2n, 3n, 9_007_199_254_740_993n];
const UUIDS = [1, 2, 3].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`);
const WRONG_TYPES: Readonly<Record<string, readonly unknown[]>> = {
  integer: ['1', 1.5, true, null, [], {}],
  number: ['1', true, null, [], {}],
  string: [1n, true, null, [], {}],
  boolean: [0n, 'true', null, [], {}],
  array: ['a', 1n, null, {}],
  object: ['a', 1n, null, []],
};
/** Where a schema sets no bound, so that cases stay small. */
const MOST = { length: 12, items: 3 };

/** The bounds of an integer. */
export function boundsOf({ format, minimum, maximum }: SchemaObject): [min: bigint, max: bigint] {
  const bits = format === 'int64' ? 63n : format === 'int32' ? 31n : 53n;
  const isSafe = bits === 53n;
  const least = minimum === undefined ? -(2n ** bits) + (isSafe ? 1n : 0n) : BigInt(minimum);
  return [least, maximum === undefined ? 2n ** bits - 1n : BigInt(maximum)];
}

/** Values that a schema accepts. */
export function goodValue(
  schemaOrReference: SchemaObject,
  document: ApiDocument,
): fc.Arbitrary<unknown> {
  const schema = document.resolve(schemaOrReference);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case 'integer':
      return integer(schema);
    case 'number':
      return fc.double({
        min: schema.minimum ?? -1e9,
        max: schema.maximum ?? 1e9,
        noNaN: true,
        noDefaultInfinity: true,
      });
    case 'boolean':
      return fc.boolean();
    case 'string':
      return text(schema);
    case 'array': {
      const { items = {}, minItems = 0, maxItems = minItems + MOST.items } = schema;
      const maxLength = Math.min(maxItems, minItems + MOST.items);
      return fc.array(goodValue(items, document), { minLength: minItems, maxLength });
    }
    case 'object':
      return goodObject(schema, document);
    default:
      return fc.jsonValue({ maxDepth: 1 });
  }
}

function integer(schema: SchemaObject): fc.Arbitrary<bigint> {
  const [min, max] = boundsOf(schema);
  const common = COMMON.filter((value) => value >= min && value <= max);
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(min, ...common) },
    { weight: 2, arbitrary: fc.constantFrom(min, max) },
    { weight: 2, arbitrary: fc.bigInt({ min, max }) },
  );
}

function text({ format, pattern, minLength = 0, maxLength }: SchemaObject): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.oneof(fc.constantFrom(...UUIDS), fc.uuid());
  if (format === 'date-time') {
    return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  }
  if (pattern !== undefined && pattern !== TEXT_PATTERN) {
    return fc.stringMatching(new RegExp(pattern, 'u'));
  }
  const most = Math.min(maxLength ?? Infinity, minLength + MOST.length);
  // As many code points as asked for: JSON Schema counts those.
  return fc
    .array(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((one) => one !== '\0'),
      { minLength, maxLength: most },
    )
    .map((characters) => characters.join(''));
}

function goodObject(
  { properties = {}, required = [] }: SchemaObject,
  document: ApiDocument,
): fc.Arbitrary<Record<string, unknown>> {
  const members = Object.entries(properties).map(
    ([name, schema]) => [name, goodValue(schema, document)] as const,
  );
  return fc.record(Object.fromEntries(members), {
    requiredKeys: [...required],
    noNullPrototype: true,
  });
}

/** Values that a schema refuses, of each kind one; none where it accepts everything. */
export function badValues(
  schemaOrReference: SchemaObject,
  document: ApiDocument,
): fc.Arbitrary<unknown>[] {
  const schema = document.resolve(schemaOrReference);
  const wrong = [...(WRONG_TYPES[schema.type ?? ''] ?? []), ...outOfBounds(schema)];
  return [...wrong.map((value) => fc.constant(value)), ...badParts(schema, document)];
}

/** Values of the right type that a rule refuses. */
export function outOfBounds(schema: SchemaObject): unknown[] {
  const { type, enum: values, pattern, minLength = 0, maxLength, minItems = 0, maxItems } = schema;
  if (values !== undefined) return type === 'string' ? [`${values.join('')}!`] : [];
  const { minimum, maximum } = schema;
  if (type === 'integer') {
    const [min, max] = boundsOf(schema);
    const isBound = schema.format !== undefined || (minimum !== undefined && maximum !== undefined);
    return isBound ? [min - 1n, max + 1n] : [];
  }
  if (type === 'number') {
    return [
      ...(minimum === undefined ? [] : [minimum - 1]),
      ...(maximum === undefined ? [] : [maximum + 1]),
    ];
  }
  if (type === 'string') {
    return [
      ...(pattern === TEXT_PATTERN ? ['a\0', '\ud800'] : []),
      ...(schema.format === 'uuid' ? ['a', `${UUIDS[0] ?? ''}0`] : []),
      ...(minLength > 0 ? ['a'.repeat(minLength - 1)] : []),
      ...(maxLength !== undefined && maxLength < 10_000 ? ['a'.repeat(maxLength + 1)] : []),
    ];
  }
  if (type !== 'array') return [];
  return [
    ...(minItems > 0 ? [[]] : []),
    ...(maxItems !== undefined && maxItems < 1_000 ? [Array(maxItems + 1).fill(null)] : []),
  ];
}

/** Objects of which one member is missing or refused. */
function badParts(schema: SchemaObject, document: ApiDocument): fc.Arbitrary<unknown>[] {
  const { type, properties = {}, required = [] } = schema;
  if (type !== 'object') return [];
  const good = goodObject(schema, document);
  const missing = required.map((name) =>
    good.map((object) =>
      Object.fromEntries(Object.entries(object).filter(([key]) => key !== name)),
    ),
  );
  const refused = Object.entries(properties).flatMap(([name, member]) =>
    badValues(member, document).map((bad) =>
      fc.tuple(good, bad).map(([object, value]) => ({ ...object, [name]: value })),
    ),
  );
  return [...missing, ...refused];
}

/** A value as JSON; a bigint has all its digits. */
export function jsonText(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${jsonText(member)}`,
  );
  return `{${members.join()}}`;
}

/** A JSON text as a value, with each of its integers as text: they are compared with all their digits. */
export function readExactly(text: string): unknown {
  return JSON.parse(
    text.replaceAll(/(?<=[[{,:])-?\d+(?=[,}\]])/g, (digits) => `"${digits}n"`),
  ) as unknown;
}
