import fc from 'fast-check';
import type { NewPlant } from './body.js';
import { type Facts, type Probe, probeOf } from './expected.js';
import { CONDITIONS, fieldsOf } from './conditions.js';
import * as headers from './headers.js';
import type { HttpRequest } from './http-request.js';
import { type BodyMaker, bodyArbitrary, styleArbitrary, weighted } from './new-plant.arbitrary.js';
import { LIST_QUERIES, meaningOf, nearQueries, NOT_IDS } from './queries.js';
import { createOf } from './requests.js';

/** Requests to send one after another. They are given an id that no other plant has. */
export type ProbeMaker = (freshId: bigint) => Probe[];

/** Some headers, and what they say about the request. */
interface Part {
  readonly fields: readonly headers.Field[];
  readonly facts: Partial<Facts>;
}

/** The usual one that many times as often as one of the others. */
function mostly<T>(weight: number, usual: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: others });
}

function part(field: headers.Field | undefined, facts: Partial<Facts>): Part {
  return { fields: field === undefined ? [] : [field], facts };
}

const GOOD_TOKEN = part(headers.ACCEPTED[0], { token: 'good' });

const token = mostly(
  9,
  GOOD_TOKEN,
  fc.oneof(
    fc.constantFrom(...headers.ACCEPTED).map((field) => part(field, { token: 'good' })),
    fc.constantFrom(...headers.MISSING).map((field) => part(field, { token: 'missing' })),
    fc
      .constantFrom(...headers.REFUSED_TOKENS)
      .map((text) => part(['Authorization', `Bearer ${text}`], { token: 'refused' })),
  ),
);

const JSON_TYPE = part(['Content-Type', 'application/json'], { isJsonType: true });

const mediaType = mostly(
  12,
  JSON_TYPE,
  fc.oneof(
    fc
      .constantFrom(...headers.JSON_TYPES)
      .map((type) => part(['content-type', type], { isJsonType: true })),
    fc
      .constantFrom(...headers.OTHER_TYPES)
      .map((type) =>
        part(type === undefined ? undefined : ['Content-Type', type], { isJsonType: false }),
      ),
  ),
);

const contentEncoding = mostly(
  40,
  part(undefined, {}),
  fc.oneof(
    fc.constantFrom('identity', 'Identity').map((name) => part(['Content-Encoding', name], {})),
    fc
      .constantFrom(...headers.CONTENT_ENCODINGS)
      .map((name) => part(['Content-Encoding', name], { isIdentity: false })),
  ),
);

const extraFields = mostly<Part>(
  4,
  part(undefined, {}),
  fc
    .array(fc.constantFrom(...headers.EXTRA_FIELDS), { minLength: 1, maxLength: 3 })
    .map((fields) => ({ fields, facts: {} })),
);

const NO_BODY: BodyMaker = () => ({ bytes: Buffer.alloc(0), verdict: { kind: 'unreadable' } });

interface Target {
  readonly path: string;
  readonly is: Facts['path'];
  readonly query?: Facts['query'];
}

const PLANTS: Target = { path: '/plants', is: 'plants' };

const target: fc.Arbitrary<Target> = mostly(
  20,
  PLANTS,
  fc
    .tuple(
      fc.oneof(
        fc.constant(PLANTS),
        fc.constantFrom(...headers.NEAR_PATHS).map((path) => ({ path, is: 'unknown' as const })),
        fc.constantFrom(...headers.UNKNOWN_PATHS).map((path) => ({ path, is: 'unknown' as const })),
        fc
          .constantFrom(...headers.UNDECODABLE_PATHS)
          .map((path) => ({ path, is: 'undecodable' as const })),
        fc.constantFrom(...headers.KNOWN_PAGES).map((is) => ({ path: is.page, is })),
      ),
      fc.constantFrom(...headers.QUERIES),
    )
    .map(([{ path, is }, query]): Target => ({ path: path + query, is, query: meaningOf(query) })),
);

const method = mostly(40, 'POST', fc.constantFrom(...headers.OTHER_METHODS));

type Framing = Pick<HttpRequest, 'framing' | 'chunking' | 'pause'>;

const LENGTH: Framing = { framing: 'length', chunking: 0, pause: false };

const framing: fc.Arbitrary<Framing> = mostly(
  5,
  LENGTH,
  fc.record({
    framing: fc.oneof(
      { weight: 2, arbitrary: fc.constant('length' as const) },
      { weight: 5, arbitrary: fc.constant('chunked' as const) },
      { weight: 1, arbitrary: fc.constant('none' as const) },
    ),
    chunking: fc.nat(0x7fff_ffff),
    pause: fc.boolean(),
  }),
);

/** A body, or none in fewer than one of a hundred. */
const body = fc.tuple(mostly(100, false, fc.constant(true)), bodyArbitrary);

const parts = fc.tuple(token, mediaType, contentEncoding, extraFields);

/** What to ask after the first request, if anything. */
const next = mostly(6, 'nothing', fc.constantFrom('same', 'renamed', 'retagged', 'neighbour'));

/** What to do with the plant after that: one request after another. */
const steps = mostly(
  1,
  [],
  fc.array(
    fc
      .oneof(
        weighted(4, fc.constant('GET')),
        weighted(1, fc.constant('HEAD')),
        weighted(4, fc.constant('PUT')),
        weighted(2, fc.constant('DELETE')),
        weighted(2, fc.constant('POST')),
        weighted(2, fc.constant('list')),
        weighted(1, fc.constantFrom(...headers.OTHER_METHODS)),
      )
      .chain(stepArbitrary),
    { minLength: 1, maxLength: 5 },
  ),
);

/** Makes a request for a plant, as it was created. */
type Step = (plant: NewPlant) => Probe;

function stepArbitrary(how: string): fc.Arbitrary<Step> {
  return fc
    .tuple(
      parts,
      framing,
      mostly(
        2,
        [],
        fc.uniqueArray(fc.constantFrom(...CONDITIONS), {
          selector: ({ header }) => header,
          minLength: 1,
        }),
      ),
      mostly(12, undefined, fc.constantFrom(...NOT_IDS)),
      how === 'PUT' || how === 'POST' ? bodyArbitrary : fc.constant(NO_BODY),
      mostly(3, undefined, fc.constantFrom(...LIST_QUERIES)),
      fc.nat(3),
    )
    .map(([all, framed, conditions, badId, makeBody, query, near]): Step => (plant) => {
      const { bytes, verdict, putVerdict = verdict } = makeBody(plant.id);
      const { fields, facts } = joined(all);
      const others = fields.filter(([name]) => !headers.CONDITIONAL.includes(name));
      const request: HttpRequest = {
        method: how === 'list' ? 'GET' : how,
        target: '/plants',
        headers: [...others, ...fieldsOf(conditions)],
        body: bytes,
        ...framed,
      };
      if (how === 'POST') return probeOf(request, { ...facts, path: 'plants', verdict });
      if (how === 'list') {
        const { text, meaning } =
          query ?? nearQueries(plant.id, plant.tag)[near] ?? LIST_QUERIES[0];
        const target = `/plants${text}`;
        return probeOf(
          { ...request, target },
          { ...facts, path: 'plants', verdict, query: meaning },
        );
      }
      const path = { id: badId === undefined ? plant.id : undefined };
      const target = `/plants/${badId ?? String(plant.id)}`;
      return probeOf({ ...request, target }, { ...facts, path, verdict: putVerdict, conditions });
    });
}

function joined(all: readonly Part[]): {
  fields: headers.Field[];
  facts: Omit<Facts, 'path' | 'verdict'>;
} {
  const facts = Object.assign({}, ...all.map((one) => one.facts)) as Partial<Facts>;
  return {
    fields: all.flatMap(({ fields }) => fields),
    facts: { token: 'missing', isJsonType: false, isIdentity: true, ...facts },
  };
}

/** The wire form of any request, with the answer it must get; sometimes others to follow. */
export const probeArbitrary: fc.Arbitrary<ProbeMaker> = fc
  .tuple(method, target, parts, framing, body, next, styleArbitrary, steps)
  .map(
    ([
      verb,
      { path, is, query },
      all,
      framed,
      [isEmpty, makeBody],
      following,
      style,
      further,
    ]): ProbeMaker =>
      (freshId) => {
        const { bytes, verdict } = makeBody(freshId);
        const { fields, facts } = joined(all);
        const request: HttpRequest = {
          method: verb,
          target: path,
          headers: fields,
          body: isEmpty ? Buffer.alloc(0) : bytes,
          ...framed,
        };
        const first = probeOf(request, { ...facts, path: is, verdict, query });
        const plant = verdict.kind === 'plant' ? verdict.plant : { id: freshId, name: 'after' };
        const second = following === 'nothing' ? [] : [createOf(changed(plant, following), style)];
        return [first, ...second, ...further.map((step) => step(plant))];
      },
  );

/** The plant as it is after the first request, or one that differs in a small way. */
function changed(plant: NewPlant, how: string): NewPlant {
  const { id, name, tag } = plant;
  switch (how) {
    case 'renamed':
      return { ...plant, name: `${name}a` };
    case 'retagged':
      return tag === undefined ? { ...plant, tag: '' } : { id, name };
    case 'neighbour':
      // Two ids that are one and the same as doubles.
      return { ...plant, id: id ^ 1n };
    default:
      return plant;
  }
}
