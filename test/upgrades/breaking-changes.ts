import { isDeepStrictEqual } from 'node:util';

/** An object of an OpenAPI document. */
export type Part = Readonly<Record<string, unknown>>;

/** A request is written by a client, an answer is read by it. */
type Use = 'request' | 'answer';
/** Whether a keyword with the first value allows all that it allows with the second one. */
type Rule = (wide: unknown, narrow: unknown, use: Use) => boolean;

/** The operations that never change. */
const FIXED = ['post /plants'];

const ANNOTATIONS = [
  'deprecated',
  'description',
  'example',
  'examples',
  'summary',
  'tags',
  'title',
];
/** Their keys are names, to which a release may add. */
const MAPS = [
  ...['content', 'errors', 'headers', 'operations', 'parameters'],
  ...['properties', 'responses', 'securitySchemes'],
];
const PARTS = ['items', 'requestBody', 'schema'];

const ANY_TYPE = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

const isEqual: Rule = (wide, narrow) => isDeepStrictEqual(wide, narrow);
const isAbsentOrEqual: Rule = (wide, narrow) =>
  wide === undefined || isEqual(wide, narrow, 'request');
// An answer shows what a request stored, so its limits become wider with those of the request.
const isLower: Rule = (wide = -Infinity, narrow = -Infinity, use) =>
  use === 'answer' || Number(wide) <= Number(narrow);
const isHigher: Rule = (wide = Infinity, narrow = Infinity, use) =>
  use === 'answer' || Number(wide) >= Number(narrow);

const RULES: Readonly<Record<string, Rule>> = {
  version: isEqual,
  operationId: isEqual,
  statuses: isEqual,
  default: isEqual,
  type: (wide, narrow) => includes(listTypes(wide), listTypes(narrow)),
  enum: (wide, narrow) =>
    wide === undefined || (narrow !== undefined && includes(wide as [], narrow as [])),
  // An array of members in a schema, and a boolean elsewhere.
  required: (wide = [], narrow = []) =>
    Array.isArray(wide) ? includes(narrow as [], wide) : !wide || narrow === true,
  minimum: isLower,
  exclusiveMinimum: isLower,
  minLength: isLower,
  minItems: isLower,
  minProperties: isLower,
  maximum: isHigher,
  exclusiveMaximum: isHigher,
  maxLength: isHigher,
  maxItems: isHigher,
  maxProperties: isHigher,
};

/** Lists what a newer OpenAPI document changes although CONTRIBUTING does not allow it. */
export function findBreakingChanges(older: Part, newer: Part): string[] {
  const before = readDocument(older);
  const after = readDocument(newer);
  // No change of a fixed operation is allowed in both directions, except a new error.
  const fixed = FIXED.flatMap((name) =>
    comparePart(`${name} (fixed)`, 'request', get(after, 'operations', name), {
      ...get(before, 'operations', name),
      errors: get(after, 'operations', name).errors,
    }),
  );
  return [...comparePart('', 'request', before, after), ...fixed];
}

function comparePart(at: string, use: Use, before: Part, after: Part): string[] {
  const keys = Object.keys({ ...before, ...after }).filter((key) => !ANNOTATIONS.includes(key));
  const [wide, narrow] = use === 'request' ? [after, before] : [before, after];
  return keys.flatMap((key) => {
    const path = `${at} ${key}`.trim();
    if (PARTS.includes(key)) return comparePart(path, use, get(before, key), get(after, key));
    if (MAPS.includes(key)) {
      const inner = key === 'responses' ? 'answer' : use;
      return compareMap(path, inner, get(before, key), get(after, key));
    }
    const isAllowed = RULES[key] ?? isAbsentOrEqual;
    if (isAllowed(wide[key], narrow[key], use)) return [];
    return [`${path}: ${JSON.stringify(before[key])} became ${JSON.stringify(after[key])}`];
  });
}

function compareMap(at: string, use: Use, before: Part, after: Part): string[] {
  const removed = Object.keys(before).filter((name) => !(name in after));
  const kept = Object.keys(before).filter((name) => name in after);
  const added = Object.keys(after).filter((name) => !(name in before));
  const isParameters = at.endsWith(' parameters');
  const needed = added.filter((name) => isParameters && get(after, name).required === true);
  return [
    ...removed.map((name) => `${at}: ${name} was removed`),
    ...needed.map((name) => `${at}: ${name} is new and required`),
    ...kept.flatMap((name) =>
      comparePart(`${at} ${name}`, use, get(before, name), get(after, name)),
    ),
  ];
}

/** Reads what clients rely on, without references. */
function readDocument(document: Part): Part {
  const whole = inline(document, document) as Part;
  const operations = Object.entries(get(whole, 'paths')).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Part>).map(([method, operation]) => {
      return [`${method} ${path}`, readOperation(operation, whole.security)] as const;
    }),
  );
  const { securitySchemes } = get(whole, 'components');
  const { version } = get(whole, 'info');
  return { version, securitySchemes, operations: Object.fromEntries(operations) };
}

function readOperation(operation: Part, security: unknown): Part {
  const parameters = ((operation.parameters ?? []) as Part[]).map((one) => [
    `${String(one.in)} ${String(one.name)}`,
    one,
  ]);
  const responses = get(operation, 'responses');
  const errors = Object.values(responses).flatMap((response) =>
    Object.keys(get(response as Part, 'content', 'application/json', 'examples')),
  );
  // The default response has the statuses of its errors.
  const statuses = [...Object.keys(responses), ...errors.map((code) => code.slice(0, 3))];
  return {
    security,
    ...operation,
    parameters: Object.fromEntries(parameters),
    errors: Object.fromEntries(errors.map((code) => [code, {}])),
    statuses: [...new Set(statuses)].sort(),
  };
}

/** Puts what references name in their place. */
function inline(value: unknown, document: Part): unknown {
  if (Array.isArray(value)) return value.map((one) => inline(one, document));
  if (typeof value !== 'object' || value === null) return value;
  if ('$ref' in value) {
    const [, ...path] = String(value.$ref).split('/');
    return inline(get(document, ...path), document);
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, inline(member, document)]),
  );
}

function get(part: Part, ...path: readonly string[]): Part {
  return path.reduce((inner, key) => (inner[key] ?? {}) as Part, part);
}

function listTypes(type: unknown = ANY_TYPE): unknown[] {
  const types = [type].flat();
  return types.includes('number') ? [...types, 'integer'] : types;
}

function includes(all: readonly unknown[], some: readonly unknown[]): boolean {
  return some.every((one) => all.includes(one));
}
