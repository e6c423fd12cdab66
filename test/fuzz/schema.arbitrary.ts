import fc from 'fast-check';
import type { ApiDocument, SchemaObject } from './api-document.js';
import { ODD_TEXTS } from './texts.js';

/** Deeper than this, optional members are left out: a schema may refer to itself. */
const DEPTH = 3;
/** The greatest number of the shortest type, which all others have too. */
const MOST = 2 ** 31 - 1;

const TIMES = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString());
/** Few keys, so that requests meet the same rows. */
const UUIDS = ['a', 'b', 'c'].map((digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`);
const FEW_IDS = 5;
const FORMATS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  uuid: fc.constantFrom(...UUIDS),
  date: TIMES.map((time) => time.slice(0, 10)),
  'date-time': TIMES,
};

/**
 * Makes values that a schema accepts, as far as a schema says it.
 *
 * @param name of the member or parameter; an integer whose name ends with `id` is often small
 */
export function makeValue(
  reference: SchemaObject,
  document: ApiDocument,
  name = '',
  depth = 0,
): fc.Arbitrary<unknown> {
  const schema = document.resolve(reference);
  const { type, oneOf, anyOf = oneOf, enum: values } = schema;
  if (values !== undefined) return fc.constantFrom(...(values as unknown[]));
  if (anyOf !== undefined) {
    return fc.oneof(...anyOf.map((one) => makeValue(one, document, '', depth)));
  }
  const types = [type ?? []].flat();
  if (types.length === 0) return fc.jsonValue({ maxDepth: 1 });
  const all = types.map((one) => makeOfType(one, schema, document, depth));
  if (types.includes('integer') && /id$/i.test(name))
    all.push(fc.integer({ min: 1, max: FEW_IDS }));
  return fc.oneof(...all);
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
      return fc.integer({
        min: Math.max(Math.ceil(schema.minimum ?? -MOST), -MOST),
        max: Math.min(Math.floor(schema.maximum ?? MOST), MOST),
      });
    case 'string':
      return makeText(schema);
    case 'array': {
      const { items = {}, minItems: minLength = 0, maxItems = minLength + 3 } = schema;
      const maxLength = Math.min(maxItems, minLength + 3);
      return fc.array(makeValue(items, document, '', depth + 1), { minLength, maxLength });
    }
    default:
      return makeObject(schema, document, depth);
  }
}

function makeText(schema: SchemaObject): fc.Arbitrary<string> {
  const { format = '', pattern, minLength = 0, maxLength = minLength + 20 } = schema;
  const known = FORMATS[format];
  if (known !== undefined) return known;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u'));
  const length = { minLength, maxLength: Math.min(maxLength, minLength + 20) };
  const odd = ODD_TEXTS.filter((text) => text.length >= minLength && text.length <= maxLength);
  return fc.oneof(fc.string({ unit: 'binary', ...length }), fc.constantFrom('a', ...odd));
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
