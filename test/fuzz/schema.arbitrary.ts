import fc from 'fast-check';
import type { ApiDocument, SchemaObject } from './api-document.js';
import { ODD_TEXTS } from './texts.js';

/** Stands for a value that the service has answered. */
export class Known {
  constructor(readonly index: number) {}
}

/** Deeper than this, optional members are left out: a schema may refer to itself. */
const DEPTH = 3;

const TIMES = fc
  .date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  })
  .map((date) => date.toISOString());
const FORMATS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  uuid: fc.uuid(),
  date: TIMES.map((time) => time.slice(0, 10)),
  'date-time': TIMES,
  email: fc.constantFrom('a@example.org', 'first.last@mail.example.org'),
  uri: fc.constantFrom('https://example.org/', 'https://example.org/a?b=c#d'),
};

/**
 * Makes values that a schema accepts, as far as a schema says it.
 *
 * @param name of the member or parameter; one that ends with `id` may be a known value
 */
export function makeValue(
  reference: SchemaObject,
  document: ApiDocument,
  name = '',
  depth = 0,
): fc.Arbitrary<unknown> {
  const schema = document.resolve(reference);
  const value = makeOfSchema(schema, document, depth);
  if (!/id$/i.test(name) || typeof schema.type !== 'string') return value;
  return fc.oneof(
    value,
    fc.nat(100).map((index) => new Known(index)),
  );
}

function makeOfSchema(
  schema: SchemaObject,
  document: ApiDocument,
  depth: number,
): fc.Arbitrary<unknown> {
  const { type, oneOf, anyOf = oneOf } = schema;
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (anyOf !== undefined) {
    return fc.oneof(...anyOf.map((one) => makeValue(one, document, '', depth)));
  }
  const types = typeof type === 'string' ? [type] : (type ?? []);
  if (types.length === 0) return fc.jsonValue({ maxDepth: 1 });
  return fc.oneof(...types.map((one) => makeOfType(one, schema, document, depth)));
}

function makeOfType(
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
    case 'number':
      return makeNumber(type, schema);
    case 'string':
      return makeText(schema);
    case 'array':
      return fc.array(makeValue(schema.items ?? {}, document, '', depth + 1), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 3, (schema.minItems ?? 0) + 3),
      });
    default:
      return makeObject(schema, document, depth);
  }
}

function makeNumber(type: string, schema: SchemaObject): fc.Arbitrary<number> {
  const { format, minimum, maximum, multipleOf = type === 'integer' ? 1 : 0.01 } = schema;
  const most = format === 'int32' ? 2 ** 31 - 1 : 1e12;
  const low = Math.ceil(Math.max(minimum ?? -most, -most) / multipleOf);
  const high = Math.floor(Math.min(maximum ?? most, most) / multipleOf);
  const small = fc.integer({
    min: Math.max(low, Math.min(1, high)),
    max: Math.min(high, Math.max(5, low)),
  });
  const steps = fc.oneof({ weight: 3, arbitrary: small }, fc.integer({ min: low, max: high }));
  // A division rounds to the double that is written with the fewest digits.
  return steps.map((count) =>
    multipleOf < 1 ? count / Math.round(1 / multipleOf) : count * multipleOf,
  );
}

function makeText(schema: SchemaObject): fc.Arbitrary<string> {
  const { format = '', pattern, minLength = 0, maxLength = minLength + 20 } = schema;
  const known = FORMATS[format];
  if (known !== undefined) return known;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u'));
  const odd = ODD_TEXTS.filter((text) => text.length >= minLength && text.length <= maxLength);
  const any = fc.string({
    unit: 'binary',
    minLength,
    maxLength: Math.min(maxLength, minLength + 20),
  });
  return odd.length > 0 ? fc.oneof(any, fc.constantFrom(...odd)) : any;
}

function makeObject(
  { properties = {}, required = [] }: SchemaObject,
  document: ApiDocument,
  depth: number,
): fc.Arbitrary<object> {
  const members = Object.entries(properties)
    .filter(([name]) => depth < DEPTH || required.includes(name))
    .map(([name, member]) => [name, makeValue(member, document, name, depth + 1)] as const);
  return fc.record(Object.fromEntries(members), {
    requiredKeys: [...required],
    noNullPrototype: true,
  });
}
