import fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import type { HttpAnswer } from '../support/http/answer.js';
import type { HttpRequest } from '../support/http/request.js';
import { type Api, Fault, parseJson } from './api.js';
import type { Condition } from './conditions.js';
import type { Content, Model, StoredPlant } from './model.js';
import { ANY_TEXT } from './schema.arbitrary.js';
import { EDGE_INTEGERS, ODD_TEXTS } from './texts.js';
import type { Variation } from './variations.js';

// The parts that commands have in common.

/** One request or more, with what they must be answered and do to the model. */
export interface Command extends fc.AsyncCommand<Model, Api> {
  /** The plant that it is about; undefined if it is about several or none. */
  readonly id: bigint | undefined;
}

/** Makes commands of one operation with these variations, none of which has an effect. */
export type CommandMaker = (
  anyVariations: fc.Arbitrary<readonly Variation[]>,
  anyConditions: fc.Arbitrary<readonly Condition[]>,
) => fc.Arbitrary<Command>;

/** However it is escaped, a name and a tag of so many characters fit into a body. */
const LONG = 4_000;

// Few ids, so that commands meet the same plants.
export const ids = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(1n, 2n, 3n, 2n ** 53n, 2n ** 53n + 1n) },
  { weight: 3, arbitrary: fc.constantFrom(...EDGE_INTEGERS) },
  { weight: 1, arbitrary: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) },
);
const anyText = ANY_TEXT.map((text) => text.replaceAll('\0', '0'));
const longText = fc
  .tuple(fc.constantFrom('a', 'é', '🌵', '\u0301'), fc.constantFrom(63, 64, 65, LONG))
  .map(([character, length]) => character.repeat(length));
export const texts = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom('', 'a', 'A', 'Ab', 'aB', 'b') },
  { weight: 20, arbitrary: fc.constantFrom(...ODD_TEXTS) },
  { weight: 20, arbitrary: anyText },
  { weight: 1, arbitrary: longText },
);
export const contents: fc.Arbitrary<Content> = fc.oneof(
  fc.constantFrom<Content[]>({ name: 'a' }, { name: 'a', tag: '' }, { name: 'A' }),
  fc.record({ name: texts, tag: texts }, { requiredKeys: ['name'], noNullPrototype: true }),
);

/** @param parts what the command does, for the reader */
export function command(
  id: bigint | undefined,
  parts: readonly unknown[],
  run: (model: Model, api: Api) => Promise<void>,
): Command {
  const shorten = (_: string, value: unknown): unknown => {
    if (typeof value === 'bigint') return String(value);
    if (typeof value === 'string' && value.length > 100) {
      return `${value.slice(0, 20)} and so on, ${value.length} in all`;
    }
    return value instanceof Object && 'what' in value ? value.what : value;
  };
  const toString = (): string => parts.map((part) => JSON.stringify(part, shorten)).join(' ');
  return { id, run, check: () => true, toString };
}

/** Reads a plant, or several, as JSON in which the ids are texts, so that they are exact. */
export function readPlant(json: string): unknown {
  return parseJson(json.replaceAll(/"id":(-?\d+)/g, '"id":"$1"'));
}

export function expectPlants(
  plants: unknown,
  wanted: readonly StoredPlant[],
  request: HttpRequest,
  answer?: HttpAnswer,
): void {
  if (isDeepStrictEqual(plants, wanted)) return;
  throw new Fault(`not these plants: ${JSON.stringify(wanted)}`, request, answer);
}
