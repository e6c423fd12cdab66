import fc from 'fast-check';
import type { ApiDocument, SchemaObject } from './api-document.js';
import { ODD_TEXTS } from './texts.js';

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
  email: fc.constantFrom('me@example.com', 'a.b+c@plants.example.org'),
  ipv4: fc.ipV4(),
};

/** Numbers since JSON Schema 2019. */
interface Limits {
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
}

/** Makes bodies that a schema accepts, as far as a schema says it. */
export function makeBody(reference: SchemaObject, document: ApiDocument): fc.Arbitrary<unknown> {
  const { properties, required = [] } = document.resolve(reference);
  if (properties === undefined) return makeValue(reference, document);
  const members = Object.entries(properties).map(
    ([name, member]) => [name, makeValue(member, document, name)] as const,
  );
  return fc.record(Object.fromEntries(members), {
    requiredKeys: [...required],
    noNullPrototype: true,
  });
}

/**
 * Makes values of a parameter or a member.
 *
 * @param name an integer whose name ends with `id` is often small
 */
export function makeValue(
  reference: SchemaObject,
  document: ApiDocument,
  name = '',
): fc.Arbitrary<unknown> {
  const schema = document.resolve(reference);
  const { type = 'any', anyOf, properties } = schema;
  const { enum: values = getConstant(schema) } = schema;
  if (values !== undefined) return fc.constantFrom(...(values as unknown[]));
  if (anyOf !== undefined) return fc.oneof(...anyOf.map((one) => makeValue(one, document)));
  if (properties !== undefined) return makeBody(schema, document);
  const all = [type].flat().map((one) => makeOfType(one, schema, document));
  if (type === 'integer' && /id$/i.test(name)) all.push(fc.integer({ min: 1, max: FEW_IDS }));
  return fc.oneof(...all);
}

function getConstant(schema: SchemaObject): unknown[] | undefined {
  return 'const' in schema ? [schema.const] : undefined;
}

function makeOfType(
  type: string,
  schema: SchemaObject,
  document: ApiDocument,
): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number':
      return makeNumber(schema);
    case 'string':
      return makeText(schema);
    case 'array':
      return makeList(schema, document);
    default:
      return fc.jsonValue();
  }
}

function makeNumber(schema: SchemaObject): fc.Arbitrary<number> {
  const { minimum = -MOST, maximum = MOST, multipleOf = 1 } = schema;
  const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema as unknown as Limits;
  const min = Math.max(minimum, exclusiveMinimum + 1, -MOST);
  const max = Math.min(maximum, exclusiveMaximum - 1, MOST);
  const steps = fc.integer({ min: Math.ceil(min / multipleOf), max: Math.floor(max / multipleOf) });
  return steps.map((step) => step * multipleOf);
}

/** Any text. It takes long to make. */
export const ANY_TEXT = fc.string({ unit: 'binary' });

function makeText(schema: SchemaObject): fc.Arbitrary<string> {
  const { format = '', pattern, minLength = 0, maxLength = Infinity } = schema;
  const known = FORMATS[format];
  if (known !== undefined) return known;
  const texts =
    pattern === undefined
      ? fc.oneof(ANY_TEXT, fc.constantFrom(...ODD_TEXTS))
      : fc.stringMatching(new RegExp(pattern, 'u'));
  const hasLength = ({ length }: readonly string[]): boolean =>
    length >= minLength && length <= maxLength;
  return texts.filter((text) => hasLength([...text]));
}

function makeList(schema: SchemaObject, document: ApiDocument): fc.Arbitrary<unknown[]> {
  const { items = {}, minItems = 0, maxItems = minItems + 3, uniqueItems = false } = schema;
  const values = makeValue(items, document);
  const lengths = { minLength: minItems, maxLength: maxItems };
  return uniqueItems ? fc.uniqueArray(values, lengths) : fc.array(values, lengths);
}
