import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { heapUsed } from '../../../../test/support/heap-used.js';
import {
  GIVEN_TWICE,
  type Json,
  JsonNumber,
  JsonSyntaxError,
  parseJson,
  readJson,
  readPlainList,
  SCALAR,
  type Shape,
  WHOLE,
} from './json.js';
import { TEXT } from './json-writer.js';

/** Rounds the numbers, as JSON.parse does. */
function toPlain(json: Json): unknown {
  if (json instanceof JsonNumber) return Number(json.source);
  if (Array.isArray(json)) return json.map(toPlain);
  if (!(json instanceof Map)) return json;
  return Object.fromEntries([...json].map(([name, value]) => [name, toPlain(value)]));
}

function isAccepted(text: string, parse: (text: string) => unknown = parseJson): boolean {
  try {
    parse(text);
    return true;
  } catch (error) {
    // JSON.parse throws nothing else. Its errors are of a class that the test does not see.
    if (error instanceof JsonSyntaxError || parse === JSON.parse) return false;
    throw error;
  }
}

/** JSON text, and the same with one character changed. */
const almostJson = fc
  .tuple(
    fc.oneof(
      fc.json({ maxDepth: 4 }),
      fc
        .dictionary(fc.constantFrom('id', '__proto__', 'constructor'), fc.jsonValue())
        .map((value) => JSON.stringify(value, null, 1)),
    ),
    fc.nat(),
    fc.constantFrom(
      '',
      ' ',
      '\n',
      '\u0000',
      '\ufeff',
      ...', : " \\ { } [ ] 0 - . e u true \\u12'.split(' '),
    ),
    fc.nat(2),
  )
  .map(([text, at, piece, cut]) => {
    const position = at % (text.length + 1);
    return text.slice(0, position) + piece + text.slice(position + cut);
  });

it.each([
  ['string', '"of twenty characters"'],
  ['string that V8 copies', '"ten chars."'],
])('a short %s keeps no long text in memory', (_, value) => {
  const before = heapUsed();
  const kept = Array.from({ length: 200 }, (_, index) => {
    const text = `{"value":${value},"other":"${String(index).padEnd(100_000)}"}`;
    return (parseJson(text) as Map<string, Json>).get('value');
  });
  expect(kept).toHaveLength(200);
  expect(heapUsed() - before).toBeLessThan(5_000_000);
});

describe('readJson', () => {
  it('accepts exactly the texts that JSON.parse accepts', () => {
    fc.assert(
      fc.property(almostJson, (text) => isAccepted(text) === isAccepted(text, JSON.parse)),
      { numRuns: 2_000 },
    );
  });

  it('reads any value as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        for (const space of [undefined, ' \n\t\r']) {
          const text = JSON.stringify(value, null, space);
          expect(toPlain(parseJson(text))).toEqual(JSON.parse(text));
        }
      }),
    );
  });

  it('keeps only the parts that a shape has, and of other objects and arrays their kind', () => {
    const shape: Shape = {
      ...SCALAR,
      getMember: (name) => ({ whole: WHOLE, scalar: SCALAR })[name],
    };
    const json = readJson('{"scalar":{"a":1},"whole":{"a":[{}]},"other":2}', shape);
    expect(json).toEqual(
      new Map<string, Json>([
        ['scalar', new Map()],
        ['whole', new Map([['a', [new Map()]]])],
      ]),
    );
    expect(readJson('[1,[2]]', SCALAR)).toEqual([]);
    expect(readJson('[1,[2]]', { ...shape, elements: SCALAR })).toEqual([new JsonNumber('1'), []]);
  });

  it('marks a member that is given twice, at any depth, null or not', () => {
    const json = parseJson('{"id":null,"id":null,"leaf":{"s\\u0069ze":1,"size":2,"a":"b"}}');
    const leaf = new Map<string, Json>([
      ['size', GIVEN_TWICE],
      ['a', 'b'],
    ]);
    expect(json).toEqual(
      new Map<string, Json>([
        ['id', GIVEN_TWICE],
        ['leaf', leaf],
      ]),
    );
  });

  it('refuses deep nesting in time linear in the text', () => {
    expect(isAccepted(`{"x":${'['.repeat(63)}${']'.repeat(63)}}`)).toBe(true);
    expect(isAccepted(`{"x":${'['.repeat(64)}${']'.repeat(64)}}`)).toBe(false);
    expect(isAccepted('{"x":'.repeat(20_000))).toBe(false);
    expect(isAccepted(`${'{"x":'.repeat(64)}{}${'}'.repeat(64)}`)).toBe(false);
  });

  it('accepts what it accepts alone in a plain list too, and nothing deeper', () => {
    const nest = (levels: number): string => `${'{"x":'.repeat(levels)}1${'}'.repeat(levels)}`;
    expect(isAccepted(nest(64))).toBe(true);
    expect(readPlainList(`[${nest(64)},7]`)).toEqual([JSON.parse(nest(64)), 7]);
    expect(() => readPlainList(`[${nest(65)}]`)).toThrow('nests deeper than 64 levels');
  });
});

describe('JSON text', () => {
  it('is read as it was written, but without white space between its parts', () => {
    const text = '{"b" : [ 1.0, 1E+2, -0, 123456789012345678901e400, {}, [] ],\n"a": " \\u0041 " }';
    expect(readJson(text, TEXT)).toBe(
      '{"b":[1.0,1E+2,-0,123456789012345678901e400,{},[]],"a":" A "}',
    );
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const compact = JSON.stringify(value);
        expect(readJson(JSON.stringify(value, null, 2), TEXT)).toBe(compact);
      }),
    );
  });
});

it('an empty object is no part of another text', () => {
  (parseJson('{}') as Map<string, Json>).set('name', 'Monstera');
  (parseJson('[{}]') as Map<string, Json>[])[0]?.set('name', 'Monstera');
  expect(parseJson('[{},{"a":{}}]')).toEqual([new Map(), new Map([['a', new Map()]])]);
});
