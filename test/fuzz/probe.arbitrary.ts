import fc from 'fast-check';
import type { NewPlant } from './body.js';
import { type Facts, type Probe, probeOf } from './expected.js';
import * as headers from './headers.js';
import type { HttpRequest } from './http-request.js';
import { bodyArbitrary, styleArbitrary } from './new-plant.arbitrary.js';
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

interface Target {
  readonly path: string;
  readonly is: Facts['path'];
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
    .map(([{ path, is }, query]): Target => ({ path: path + query, is })),
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

/** The wire form of any request, with the answer it must get; sometimes a second one to follow. */
export const probeArbitrary: fc.Arbitrary<ProbeMaker> = fc
  .tuple(method, target, parts, framing, body, next, styleArbitrary)
  .map(
    ([verb, { path, is }, all, framed, [isEmpty, makeBody], following, style]): ProbeMaker =>
      (freshId) => {
        const { bytes, verdict } = makeBody(freshId);
        const request: HttpRequest = {
          method: verb,
          target: path,
          headers: all.flatMap(({ fields }) => fields),
          body: isEmpty ? Buffer.alloc(0) : bytes,
          ...framed,
        };
        const facts = Object.assign({}, ...all.map((one) => one.facts)) as Partial<Facts>;
        const first = probeOf(request, {
          path: is,
          token: 'missing',
          isJsonType: false,
          isIdentity: true,
          verdict,
          ...facts,
        });
        if (following === 'nothing') return [first];
        const plant = verdict.kind === 'plant' ? verdict.plant : { id: freshId, name: 'after' };
        return [first, createOf(changed(plant, following), style)];
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
