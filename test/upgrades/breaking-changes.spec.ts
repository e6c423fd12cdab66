import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { findBreakingChanges, type Part } from './breaking-changes.js';

/** The contract of the last release, which a new release keeps. */
const RELEASED = readFileSync(new URL('2.0.0.openapi.json', import.meta.url), 'utf8');
const CURRENT = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');

/**
 * The places that the next release changes all the same. Such a place is
 * `operations delete /plants/{id} statuses`, if a module refers to plants with RESTRICT.
 */
const ACCEPTED: readonly string[] = [];

/** A change of the document: a path of keys, and the value there, or undefined to remove it. */
type Change = readonly [path: string, value?: unknown];

const LIST = 'paths /plants get';
const LIMIT = `${LIST} parameters 0`;
const CREATE = 'paths /plants post';
const PUT = 'paths /plants/{id} put';
const JSON_OF_LIST = `${LIST} responses 200 content application/json`;
const SCHEMAS = 'components schemas';
const ORIGIN = { type: 'string', description: 'Where the plant comes from' };
const ERROR = { value: { error: 40499, message: 'There is no such garden' } };

const BREAKING: readonly (readonly [name: string, change: Change, report: string])[] = [
  ['a path is removed', ['paths /changes'], 'get /changes was removed'],
  ['an operation is removed', ['paths /plants/{id} patch'], 'patch /plants/{id} was removed'],
  ['an operation has another id', [`${PUT} operationId`, 'putPlant'], 'operationId: '],
  ['the version of the contract', ['info version', '2.0.0'], 'version: "1.0.0" became "2.0.0"'],
  ['an operation needs no token', [`${LIST} security`, []], 'get /plants security: '],
  [
    'an operation needs a scope',
    [`${LIST} security`, [{ bearer: ['admin'] }]],
    'get /plants security: ',
  ],
  [
    'tokens are sent in another way',
    ['components securitySchemes bearer scheme', 'basic'],
    'securitySchemes bearer scheme: "bearer" became "basic"',
  ],
  ['a parameter is removed', [`${LIST} parameters 4`], 'query tag was removed'],
  ['a parameter has another name', [`${LIMIT} name`, 'size'], 'query limit was removed'],
  ['a parameter becomes required', [`${LIMIT} required`, true], 'query limit required: '],
  [
    'a new parameter is required',
    [`${LIST} parameters 5`, { name: 'garden', in: 'query', required: true }],
    'query garden is new and required',
  ],
  ['an upper limit is narrower', [`${LIMIT} schema maximum`, 500], 'maximum: 1000 became 500'],
  ['a lower limit is narrower', [`${LIMIT} schema minimum`, 2], 'minimum: 1 became 2'],
  ['there is a new limit', [`${SCHEMAS} Plant properties name maxLength`, 64], 'name maxLength: '],
  [
    'there is another pattern',
    [`${SCHEMAS} Plant properties name pattern`, '^a'],
    'name pattern: ',
  ],
  ['there is another default', [`${LIMIT} schema default`, 50], 'default: 100 became 50'],
  [
    'a value is no longer taken',
    [`${LIST} parameters 3 schema enum`, ['id', '-id']],
    'query sort schema enum: ',
  ],
  [
    'a type is another',
    [`${SCHEMAS} Plant properties tag type`, 'integer'],
    'properties tag type: ',
  ],
  [
    'null is no longer taken',
    [`${SCHEMAS} PlantPatch properties tag type`, 'string'],
    'properties tag type: ["string","null"] became "string"',
  ],
  [
    'a member becomes required',
    [`${SCHEMAS} Plant required`, ['name', 'tag']],
    'schema required: ',
  ],
  [
    'a member is no longer taken',
    [`${SCHEMAS} Plant properties tag`],
    'properties: tag was removed',
  ],
  [
    'other members are refused',
    [`${SCHEMAS} Plant additionalProperties`, false],
    'additionalProperties: ',
  ],
  [
    'a media type is no longer taken',
    ['paths /plants/{id} patch requestBody content application/json'],
    'requestBody content: application/json was removed',
  ],
  [
    'a body becomes required',
    ['paths /plants/{id} delete requestBody', { required: true, content: {} }],
    'requestBody required: undefined became true',
  ],
  [
    'an answer loses a member',
    [`${SCHEMAS} ImportResult properties identical`],
    'properties: identical was removed',
  ],
  [
    'an answer may lack a member',
    [`${SCHEMAS} StoredPlant required`, ['id']],
    'schema items required: ["id","name"] became ["id"]',
  ],
  [
    'a member of an answer has another type',
    [`${SCHEMAS} ImportFailure properties line type`, 'number'],
    'line type: "integer" became "number"',
  ],
  [
    'a member of an answer may be null',
    [`${SCHEMAS} StoredPlant properties tag type`, ['string', 'null']],
    'tag type: "string" became ["string","null"]',
  ],
  [
    'a member of an answer has another format',
    [`${SCHEMAS} Change properties at format`, 'date'],
    'at format: "date-time" became "date"',
  ],
  [
    'a member of an answer has new values',
    [`${SCHEMAS} Change properties type pattern`, '^.*$'],
    'properties type pattern: ',
  ],
  [
    'an answer is no longer an array',
    [`${JSON_OF_LIST} schema`, { type: 'object' }],
    'type: "array" became "object"',
  ],
  ['an answer loses a media type', [JSON_OF_LIST], 'content: application/json was removed'],
  ['an answer loses a header', [`${LIST} responses 200 headers Link`], 'headers: Link was removed'],
  ['a status is removed', [`${PUT} responses 404`], 'responses: 404 was removed'],
  ['a status is new', [`${PUT} responses 202`, { description: '' }], 'put /plants/{id} statuses: '],
  [
    'an error is removed',
    [`${LIST} responses 400 content application/json examples 40003`],
    'get /plants errors: 40003 was removed',
  ],
  [
    'an error has a status that was not possible',
    [`${LIST} responses 400 content application/json examples 40499`, ERROR],
    'get /plants statuses: ',
  ],
  [
    'the fixed operation answers a new member',
    [`${SCHEMAS} Plant properties origin`, ORIGIN],
    'post /plants (fixed) responses 200 content application/json schema properties: origin was removed',
  ],
  [
    'the fixed operation takes a new member',
    [`${SCHEMAS} NewPlant properties origin`, ORIGIN],
    'post /plants (fixed) requestBody content application/json schema properties: origin was removed',
  ],
];

const ALLOWED: readonly (readonly [name: string, change: Change])[] = [
  ['a new path', ['paths /gardens', { get: { responses: {} } }]],
  ['a new operation', ['paths /plants/import put', { responses: {} }]],
  ['a new optional parameter', [`${LIST} parameters 5`, { name: 'garden', in: 'query' }]],
  ['a new optional member of a request', [`${SCHEMAS} PlantPatch properties origin`, ORIGIN]],
  ['a member with the name of a keyword', [`${SCHEMAS} PlantPatch properties required`, ORIGIN]],
  ['a new member of an answer', [`${SCHEMAS} ImportResult properties replaced`, ORIGIN]],
  ['a body that is optional', [`${PUT} requestBody required`]],
  ['a wider limit', [`${LIMIT} schema maximum`, 5000]],
  ['a limit that is gone', [`${LIST} parameters 2 schema maxLength`]],
  ['a pattern that is gone', [`${LIST} parameters 4 schema pattern`]],
  [
    'a new value of a parameter',
    [`${LIST} parameters 3 schema enum`, ['id', '-id', 'name', '-name', 'tag']],
  ],
  [
    'null for a member of a request',
    [`${SCHEMAS} PlantPatch properties name type`, ['string', 'null']],
  ],
  ['a number in place of an integer', [`${LIMIT} schema type`, 'number']],
  ['a new media type of a request', [`${PUT} requestBody content text/csv`, {}]],
  ['a new media type of an answer', [`${LIST} responses 200 content text/csv`, {}]],
  ['a new header', [`${LIST} responses 200 headers Age`, { schema: { type: 'integer' } }]],
  [
    'a new error of a possible status',
    [`${PUT} responses 404 content application/json examples 40499`, ERROR],
  ],
  [
    'a new error of every operation',
    ['components responses AnyFailure content application/json examples 50399', ERROR],
  ],
  ['another description', [`${CREATE} description`, 'Creates a plant']],
  ['another example', [`${SCHEMAS} NewPlant properties name example`, 'Aloe']],
];

/** Returns the released document with a change. */
function change([path, value]: Change): Part {
  const document = JSON.parse(RELEASED) as Part;
  const keys = path.split(' ');
  const last = keys.pop() ?? '';
  const parent = keys.reduce((part, key) => part[key] as Part, document) as Record<string, unknown>;
  expect(parent[last]).not.toEqual(value);
  if (value !== undefined) parent[last] = value;
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else Reflect.deleteProperty(parent, last);
  return document;
}

/** Reads where a report has found a change. */
function readPlace(change: string): string {
  return change.replace(/: .*/, '');
}

describe('a release', () => {
  it('changes the contract only as CONTRIBUTING allows', () => {
    const changes = findBreakingChanges(JSON.parse(RELEASED) as Part, JSON.parse(CURRENT) as Part);
    const refused = changes.filter((change) => !ACCEPTED.includes(readPlace(change)));
    const lines = refused.map(
      (change) => `${change}. To accept it, add '${readPlace(change)}' to ACCEPTED`,
    );
    expect(lines).toEqual([]);
  });

  it.each(BREAKING)('is refused if %s', (_, one, report) => {
    const changes = findBreakingChanges(JSON.parse(RELEASED) as Part, change(one));
    expect(changes.join('\n')).toContain(report);
  });

  it.each(ALLOWED)('may have %s', (_, one) => {
    expect(findBreakingChanges(JSON.parse(RELEASED) as Part, change(one))).toEqual([]);
  });
});
