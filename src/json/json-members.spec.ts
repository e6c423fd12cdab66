import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  GIVEN_TWICE,
  JsonSyntaxError,
  type Member,
  NotAnObjectError,
  readMembers,
} from './json-members.js';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const MEMBERS: Member[] = [
  { name: 'id', number: 'int64' },
  { name: 'size', number: 'double' },
  { name: '__proto__', number: 'double' },
];

function isAccepted(text: string): boolean {
  try {
    readMembers(text, MEMBERS);
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

/** JSON text, and what a slip of the finger makes of it. */
const almostJson = fc
  .tuple(
    fc.oneof(
      fc.json({ maxDepth: 4 }),
      fc
        .dictionary(fc.constantFrom('id', 'size', '__proto__', 'other'), fc.jsonValue())
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
    const text = `{"name":"of twenty characters","other":"${String(index).padEnd(100_000)}"}`;
    return readMembers(text, [{ name: 'name', number: 'double' }])[0];
  });
  expect(kept).toHaveLength(200);
  expect(heapUsed() - before).toBeLessThan(5_000_000);
});

/** In bytes, after a full collection. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

describe('readMembers', () => {
  it('accepts exactly the texts that JSON.parse accepts', () => {
    fc.assert(
      fc.property(almostJson, (text) => {
        expect(isAccepted(text)).toBe(isJson(text));
      }),
      { numRuns: 20_000 },
    );
  });

  it('reads members as JSON.parse does, but int64 exactly', () => {
    const values = fc.jsonValue({ noUnicodeString: false }).filter((value) => value !== null);
    fc.assert(
      fc.property(values, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (size, id) => {
        const text = `{"x":{"id":0},"size":${JSON.stringify(size)},"id":${String(id)}}`;
        expect(readMembers(text, MEMBERS)).toEqual([
          id,
          JSON.parse(JSON.stringify(size)),
          undefined,
        ]);
      }),
    );
  });

  it('keeps a number that is no int64 as a number', () => {
    expect(readMembers('{"id":1.5,"size":7}', MEMBERS)).toEqual([1.5, 7, undefined]);
    expect(readMembers('{"id":1e999}', MEMBERS)).toEqual([Infinity, undefined, undefined]);
  });

  it('marks a member that is given twice, null or not', () => {
    expect(readMembers('{"id":null,"id":null,"size":1,"s\\u0069ze":1}', MEMBERS)).toEqual([
      GIVEN_TWICE,
      GIVEN_TWICE,
      undefined,
    ]);
  });

  it('reads a member named __proto__ like any other', () => {
    expect(readMembers('{"__proto__":{"id":1}}', MEMBERS)[2]).toEqual({ id: 1 });
  });

  it('refuses deep nesting in time linear in the text', () => {
    expect(isAccepted(`{"x":${'['.repeat(63)}${']'.repeat(63)}}`)).toBe(true);
    expect(isAccepted(`{"x":${'['.repeat(64)}${']'.repeat(64)}}`)).toBe(false);
    expect(isAccepted('{"x":'.repeat(20_000))).toBe(false);
  });
});
