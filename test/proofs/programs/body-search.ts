/** How long the bodies are, in bytes. */
export const LENGTH = 102_400;

/** The pieces that are repeated to fill a body: members, elements or characters. */
const PIECES = {
  members: [
    ...['"":0', '"a":0', '"%":0', '"a%":0', '"\\u0061%":0', '"\\n":""', '"x":"\\u00e9"'],
    ...['"__proto__":{}', '"constructor":[]', '"length":1', '"a":{}', '"a":[]', '"a":[{}]'],
    ...['"a":1e5', '"a":-0.0', '"a":0.00000000001', '"a":12345678901234567890', '"a":true'],
    ...['"id":1', '"\\u0069d":1', '"name":""', '"tag":0', '"seed":{}', '"seeds":[]', '"i":1'],
    ...['"a":" "', '"parent":{"id":1}', '"a" : 0 ', '"idx":1', '"nam\\u0065":{}', '"count":%'],
  ],
  elements: [
    ...['0', '%', '""', '"%"', '[]', '{}', 'null', 'true', '[[[]]]', '{"a":{}}', '[{}]', '{"":0}'],
    ...['{"id":1}', '{"id":%}', '{"id":"1"}', '{"id":1,"id":1}', '{"id":0.5,"count":{}}'],
    ...['{"id":1,"parent":{"id":1}}', '{"parent":{"parent":{}}}', '1e5', '-0.0', '"\\u0041"'],
    ...['12345678901234567890', '{"\\u0069d":1}', ' 0 ', '"\\ud83c"', '[[[[[[[[[[0]]]]]]]]]]'],
  ],
  characters: ['x', '\\u0041', '\\n', '\\"', 'é', '🌿', '\\ud800', '\\u0000', ' ', '{', '\u007f'],
  digits: ['1', '0', '9', '12', '10'],
  spaces: [' ', '\n', ' \t\r\n'],
} as const;
type Kind = keyof typeof PIECES;
const KINDS = Object.keys(PIECES) as Kind[];

/** The members that may be filled; the second half are not members of a plant. */
const SLOTS = ['id', 'name', 'tag', 'other', 'seed', 'seeds', 'ids', 'words', 'anything'];

/** The recipe of a body. */
export interface Recipe {
  /** Which member is filled; with pieces of the kind `members` it may be the body itself. */
  readonly slot: string | undefined;
  readonly kind: Kind;
  readonly pieces: readonly string[];
  /** How many levels wrap the filled value. */
  readonly depth: number;
  /** The other members, with which the body may be valid or not. */
  readonly rest: string;
}

const RESTS = ['"id":7,"name":"n"', '"seed":{"id":1}', '"id":7,"name":"n","seed":{"id":1}', ''];

/** A generator of numbers from 0 to 1 (mulberry32): the same for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function pick<Item>(items: readonly Item[], random: () => number): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

export function randomRecipe(random: () => number): Recipe {
  const kind = pick(KINDS, random);
  return {
    slot: kind === 'members' && random() < 0.5 ? undefined : pick(SLOTS, random),
    kind,
    pieces: Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
      pick<string>(PIECES[kind], random),
    ),
    depth: random() < 0.7 ? 0 : Math.floor(random() * 60),
    rest: pick(RESTS, random),
  };
}

/** Makes a recipe that differs in one part. */
export function mutate(recipe: Recipe, random: () => number): Recipe {
  const other = randomRecipe(random);
  switch (Math.floor(random() * 5)) {
    case 0:
      return { ...recipe, slot: recipe.kind === 'members' ? other.slot : pick(SLOTS, random) };
    case 1:
      return { ...recipe, depth: other.depth };
    case 2:
      return { ...recipe, rest: other.rest };
    case 3: {
      const pieces = [...recipe.pieces, pick<string>(PIECES[recipe.kind], random)];
      return { ...recipe, pieces: pieces.slice(-4) };
    }
    default:
      return other;
  }
}

const SEPARATORS: Readonly<Record<Kind, string>> = {
  ...{ members: ',', elements: ',', characters: '', digits: '', spaces: '' },
};
const WRAPPERS: Readonly<Record<Kind, readonly [open: string, close: string]>> = {
  members: ['{', '}'],
  elements: ['[', ']'],
  characters: ['"', '"'],
  digits: ['', ''],
  spaces: ['[', ']'],
};

/** A body of at most a length, in which "%" of the pieces is a number that counts up. */
export function writeBody({ slot, kind, pieces, depth, rest }: Recipe, length = LENGTH): string {
  const [open, close] = WRAPPERS[kind];
  const isBody = slot === undefined;
  const before = isBody
    ? `{${rest}${rest === '' ? '' : ','}`
    : `{"${slot}":${'['.repeat(depth)}${open}`;
  const after = isBody ? '}' : `${close}${']'.repeat(depth)}${rest === '' ? '' : `,${rest}`}}`;
  const separator = SEPARATORS[kind];
  const extraBytes = pieces.map((piece) => Buffer.byteLength(piece) - piece.length);
  const filling: string[] = [];
  let size = Buffer.byteLength(before + after);
  for (let index = 0; ; index++) {
    const at = index % pieces.length;
    const piece = (pieces[at] ?? '').replace('%', String(index));
    size += piece.length + (extraBytes[at] ?? 0) + separator.length;
    if (size > length) break;
    filling.push(piece);
  }
  return before + filling.join(separator) + after;
}
