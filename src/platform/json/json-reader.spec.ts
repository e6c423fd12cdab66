import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { heapUsed } from '../../../test/support/heap-used.js';
import {
  GIVEN_TWICE,
  JsonSyntaxError,
  NotAnObjectError,
  type ObjectShape,
  readJson,
} from './json-reader.js';
import { parseInt64 } from './json-number.js';

class Leaf {
  id?: unknown;
}

class Tree {
  id?: unknown;
  size?: unknown;
  text?: unknown;
  leaf?: unknown;
  leaves?: unknown;
  ids?: unknown;
  tree?: unknown;
}

const LEAF: ObjectShape = {
  type: Leaf,
  members: [{ name: 'id', shape: { readNumber: parseInt64 } }],
};
const TREE = {
  type: Tree,
  members: [
    { name: 'id', shape: { readNumber: parseInt64 } },
    { name: 'size', shape: 'json' },
    { name: 'text', shape: 'scalar' },
    { name: 'leaf', shape: LEAF },
    { name: 'leaves', shape: { items: LEAF } },
    { name: 'ids', shape: { items: { readNumber: parseInt64 } } },
  ] as ObjectShape['members'][number][],
} satisfies ObjectShape;
TREE.members.push({ name: 'tree', shape: TREE });

const NAMES = [...TREE.members.map(({ name }) => name), '__proto__', 'constructor', 'other'];

function read(text: string): object {
  return { ...readJson(text, TREE) };
}

function isAccepted(text: string): boolean {
  try {
    readJson(text, TREE);
    return true;
  } catch (error) {
    if (error instanceof NotAnObjectError) return true;
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON text, and the same with one character changed. */
const almostJson = fc
  .tuple(
    fc.oneof(
      fc.json({ maxDepth: 4 }),
      fc
        .dictionary(fc.constantFrom(...NAMES), fc.jsonValue())
        .map((value) => JSON.stringify(value, null, 1)),
    ),
    fc.nat(),
    fc.constantFrom(
      '',
      ' ',
      ',',
      ':',
      '"',
      '\\',
      '{',
      '}',
      '[',
      ']',
      '0',
      '-',
      '.',
      'e',
      'u',
      'true',
      '\n',
      '\u0000',
      '\ufeff',
      '\\u12',
    ),
    fc.nat(2),
  )
  .map(([text, at, piece, cut]) => {
    const position = at % (text.length + 1);
    return text.slice(0, position) + piece + text.slice(position + cut);
  });

it('keeps no long body in memory for a short string', () => {
  const before = heapUsed();
  const kept = Array.from({ length: 200 }, (_, index) => {
    const text = `{"text":"of twenty characters","other":"${String(index).padEnd(100_000)}"}`;
    return (readJson(text, { type: Tree, members: [{ name: 'text', shape: 'scalar' }] }) as Tree)
      .text;
  });
  expect(kept).toHaveLength(200);
  expect(heapUsed() - before).toBeLessThan(5_000_000);
});

describe('readJson', () => {
  it('accepts exactly the texts that JSON.parse accepts', () => {
    fc.assert(
      fc.property(almostJson, (text) => {
        return isAccepted(text) === isJson(text);
      }),
      { numRuns: 4_000 },
    );
  });

  it('reads any value as JSON.parse does, and int64 exactly', () => {
    const values = fc.jsonValue({ noUnicodeString: false });
    const ids = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(values, ids, (value, id) => {
        const json = JSON.stringify(value);
        const leaf = `{"other":${json},"id":${id}}`;
        expect(
          read(
            `{"x":{"id":0},"size":${json},"id":${id},"leaf":${leaf},"leaves":[${leaf},1,${leaf}],"ids":[${id},"${id}"],"tree":{"tree":{"id":${id}}}}`,
          ),
        ).toEqual({
          id,
          size: JSON.parse(json) as unknown,
          leaf: Object.assign(new Leaf(), { id }),
          leaves: [Object.assign(new Leaf(), { id }), 1, Object.assign(new Leaf(), { id })],
          ids: [id, String(id)],
          tree: Object.assign(new Tree(), { tree: Object.assign(new Tree(), { id }) }),
        });
      }),
    );
  });

  it('makes instances of the classes', () => {
    const { leaf, leaves, tree } = readJson('{"leaf":{},"leaves":[{}],"tree":{}}', TREE) as Tree;
    expect(leaf).toBeInstanceOf(Leaf);
    expect((leaves as unknown[])[0]).toBeInstanceOf(Leaf);
    expect(tree).toBeInstanceOf(Tree);
  });

  it('keeps a number that is no int64 as a number', () => {
    expect(read('{"id":1.5,"size":7}')).toEqual({ id: 1.5, size: 7 });
    expect(read('{"id":1e999}')).toEqual({ id: Infinity });
  });

  it('reads of a value of another type no more than its type', () => {
    expect(read('{"id":{"id":1},"text":[1],"leaf":[{}],"leaves":{"id":1},"ids":[[1]]}')).toEqual({
      id: {},
      text: [],
      leaf: [],
      leaves: {},
      ids: [[]],
    });
    expect(read('{"leaf":null,"leaves":"a","ids":1,"tree":true}')).toEqual({
      leaf: null,
      leaves: 'a',
      ids: 1,
      tree: true,
    });
  });

  it('marks a member that is given twice, at any depth, null or not', () => {
    const text = '{"id":null,"id":null,"size":1,"s\\u0069ze":1,"leaf":{"id":1,"id":2}}';
    expect(read(text)).toEqual({
      id: GIVEN_TWICE,
      size: GIVEN_TWICE,
      leaf: Object.assign(new Leaf(), { id: GIVEN_TWICE }),
    });
    expect(read('{"leaf":{},"leaf":{}}')).toEqual({ leaf: GIVEN_TWICE });
  });

  it('skips members that are not named, those of every object included', () => {
    const others = '"__proto__":{"id":1},"constructor":{"prototype":{}},"toString":1,"Id":2,"i":3';
    const tree = readJson(`{${others},"tree":{${others}}}`, TREE) as Tree;
    expect(Object.keys(tree)).toEqual(['tree']);
    expect(Object.keys(tree.tree as Tree)).toEqual([]);
    expect(Object.getPrototypeOf(tree)).toBe(Tree.prototype);
    expect(Object.getPrototypeOf(tree.tree)).toBe(Tree.prototype);
  });

  it('refuses deep nesting in time linear in the text', () => {
    expect(isAccepted(`{"x":${'['.repeat(63)}${']'.repeat(63)}}`)).toBe(true);
    expect(isAccepted(`{"x":${'['.repeat(64)}${']'.repeat(64)}}`)).toBe(false);
    expect(isAccepted('{"x":'.repeat(20_000))).toBe(false);
    const inTrees = (value: string, depth: number): string =>
      `${'{"tree":'.repeat(depth)}${value}${'}'.repeat(depth)}`;
    expect(isAccepted(inTrees('{}', 63))).toBe(true);
    expect(isAccepted(inTrees('{}', 64))).toBe(false);
    expect(isAccepted(inTrees('{"leaves":[]}', 62))).toBe(true);
    expect(isAccepted(inTrees('{"leaves":[]}', 63))).toBe(false);
    expect(isAccepted(`{"leaves":${'['.repeat(63)}${']'.repeat(63)}}`)).toBe(true);
    expect(isAccepted(`{"leaves":${'['.repeat(64)}${']'.repeat(64)}}`)).toBe(false);
  });
});
