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
};

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
 * Makes values of a parameter or a member. Inside of a member, any JSON is made.
 *
 * @param name an integer whose name ends with `id` is often small
 */
export function makeValue(
  reference: SchemaObject,
  document: ApiDocument,
  name = '',
): fc.Arbitrary<unknown> {
  const schema = document.resolve(reference);
  const { type = 'any', enum: values } = schema;
  if (values !== undefined) return fc.constantFrom(...(values as unknown[]));
  const all = [type].flat().map((one) => makeOfType(one, schema));
  if (type === 'integer' && /id$/i.test(name)) all.push(fc.integer({ min: 1, max: FEW_IDS }));
  return fc.oneof(...all);
}

function makeOfType(type: string, schema: SchemaObject): fc.Arbitrary<unknown> {
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
    default:
      return fc.jsonValue();
  }
}

function makeText({ format = '', pattern }: SchemaObject): fc.Arbitrary<string> {
  const known = FORMATS[format];
  if (known !== undefined) return known;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u'));
  return fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...ODD_TEXTS));
}
