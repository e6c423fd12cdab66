import fc from 'fast-check';
import { type Body, bodyOf, type Extra, padTo, type Parts, type Written } from './body.js';
import { Choices } from './choices.js';
import { spellGap } from './json-spelling.js';
import * as values from './values.js';

/** A body to send. It is given an id that no other plant has, for when it is to be a new one. */
export type BodyMaker = (freshId: bigint) => Body;
type IdMaker = (freshId: bigint) => Written<bigint>;

type Weighted<T> = fc.WeightedArbitrary<T>;

export function weighted<T>(weight: number, arbitrary: fc.Arbitrary<T>): Weighted<T> {
  return { weight, arbitrary };
}

/** 0 writes the plain way. */
export const styleArbitrary = fc.oneof(
  weighted(1, fc.constant(0)),
  weighted(3, fc.integer({ min: 0, max: 0x7fff_ffff })),
);

const decimalDigits = fc.stringMatching(/^[1-9]\d{0,24}[1-9]$/, { size: 'max' });

const freshId = fc.constant<IdMaker>((id) => values.goodId(id));
const knownId = fc.constantFrom(...values.EDGE_IDS).map(
  (id): IdMaker =>
    () =>
      values.goodId(id),
);
const smallId = fc.integer({ min: -50, max: 50 }).map(
  (id): IdMaker =>
    () =>
      values.goodId(BigInt(id)),
);

const nothing = fc.constant(values.wrong('null'));

const wrongId = fc.oneof(
  weighted(3, fc.constantFrom(...values.FAR_INTEGERS).map(values.badNumber)),
  weighted(3, fc.constantFrom(...values.FRACTIONS).map(values.badNumber)),
  weighted(1, fc.constantFrom(...values.FAR_EXPONENTS).map(values.wrong)),
  weighted(1, nothing),
  weighted(3, fc.constantFrom(...values.NOT_NUMBERS).map(values.wrong)),
  weighted(
    2,
    fc
      .tuple(fc.boolean(), decimalDigits, fc.integer({ min: -30, max: -1 }))
      .map(([negative, digits, power]) => values.badNumber({ negative, digits, power })),
  ),
  weighted(
    2,
    fc
      .tuple(fc.boolean(), decimalDigits, fc.integer({ min: 20, max: 400 }))
      .map(([negative, digits, power]) => values.badNumber({ negative, digits, power })),
  ),
);

/** Any Unicode but U+0000. */
const unicode = fc
  .string({ unit: 'binary', maxLength: 20 })
  .map((text) => text.replaceAll('\0', '\u0001'));

const longText = fc
  .tuple(fc.constantFrom('a', 'é', '€', '🌵', '\u0301'), fc.constantFrom(300, 5_000, 25_000))
  .map(([character, length]) => character.repeat(length));

const text = fc.oneof(
  weighted(8, unicode),
  weighted(6, fc.constantFrom(...values.ODD_TEXTS)),
  weighted(4, fc.string({ maxLength: 20 })),
);
const goodText = fc.oneof(weighted(200, text), weighted(1, longText)).map(values.goodText);

/** Put between characters, each of these stays U+0000 or an unpaired surrogate. */
const poison = fc.constantFrom('\0', '\ud800', '\udfff', '\udc00\ud800', '\ud83c');

const wrongText = fc.oneof(
  weighted(1, nothing),
  weighted(1, fc.constantFrom(...values.NOT_STRINGS).map(values.wrong)),
  weighted(
    1,
    fc.tuple(unicode, poison, fc.nat(20)).map(([good, bad, at]) => {
      const characters = Array.from(good);
      characters.splice(at, 0, bad);
      return values.badText(characters.join(''));
    }),
  ),
);

const broken = fc.constantFrom(...values.NOT_JSON).map(values.broken);
const deep = fc
  .tuple(fc.constantFrom(1, 2, 62, 63, 64, 65, 66, 1_000, 9_000), fc.boolean())
  .map(([levels, objects]) => values.deep(levels, objects));

/** A member that is good most of the time, or wrong in one of the ways. */
function member<T>(good: fc.Arbitrary<T>, bad: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof(weighted(10, good), weighted(1, bad));
}

const id = member<IdMaker>(
  fc.oneof(weighted(14, freshId), weighted(2, knownId), weighted(1, smallId)),
  fc.oneof(weighted(12, wrongId), weighted(3, broken), weighted(1, deep)).map(
    (written): IdMaker =>
      () =>
        written,
  ),
);
const name = member<Written<string>>(
  goodText,
  fc.oneof(weighted(12, wrongText), weighted(3, broken), weighted(1, deep)),
);

const extra: fc.Arbitrary<Extra> = fc
  .tuple(
    fc.oneof(weighted(3, fc.constantFrom(...values.EXTRA_NAMES)), weighted(1, unicode)),
    fc.oneof(
      weighted(8, fc.constantFrom(...values.EXTRA_VALUES).map(values.wrong)),
      weighted(2, fc.json({ maxDepth: 2 }).map(values.wrong)),
      weighted(1, deep),
      weighted(1, broken),
    ),
  )
  .map(([memberName, value]) => ({
    name: /^(?:id|name|tag)$/.test(memberName) ? `_${memberName}` : memberName,
    value,
  }));

const again = fc.oneof(
  weighted(30, fc.constant(undefined)),
  weighted(
    1,
    fc.constantFrom('id', 'name', 'tag').map((memberName) => ({
      name: memberName,
      value: memberName === 'id' ? values.goodId(1n) : values.goodText('a'),
    })),
  ),
);

/** Absent with a given chance in 100. */
function mayBeAbsent<T>(chance: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof(
    weighted(100 - chance, arbitrary),
    weighted(chance, fc.constant<T | undefined>(undefined)),
  );
}

const extras = fc.oneof(
  weighted(3, fc.constant<Extra[]>([])),
  weighted(1, fc.array(extra, { minLength: 1, maxLength: 3 })),
);

/** Bodies that are, or nearly are, an object. */
const objects: fc.Arbitrary<BodyMaker> = fc
  .tuple(
    mayBeAbsent(2, id),
    mayBeAbsent(2, name),
    mayBeAbsent(40, name),
    extras,
    again,
    styleArbitrary,
  )
  .map(([makeId, nameValue, tag, others, second, chosen]): BodyMaker => (fresh) => {
    const parts: Parts = {
      id: makeId?.(fresh),
      name: nameValue,
      tag,
      extras: others,
      again: second,
      style: chosen,
    };
    return bodyOf(parts);
  });

function unreadable(bytes: Uint8Array | string): Body {
  return { bytes: Buffer.from(bytes as string), verdict: { kind: 'unreadable' } };
}

const plain: fc.Arbitrary<BodyMaker> = fc
  .tuple(goodText, mayBeAbsent(50, goodText), styleArbitrary)
  .map(
    ([nameValue, tag, chosen]): BodyMaker =>
      (fresh) =>
        bodyOf({
          id: values.goodId(fresh),
          name: nameValue,
          tag,
          extras: [],
          again: undefined,
          style: chosen,
        }),
  );

/** A whole body that ends too early: an object lacks at least its closing brace. */
const truncated = fc.tuple(plain, fc.nat(0xffff)).map(([make, at]): BodyMaker => (fresh) => {
  const { bytes } = make(fresh);
  return unreadable(bytes.subarray(0, at % (bytes.lastIndexOf('}') + 1)));
});

const trailed = fc
  .tuple(plain, fc.constantFrom('x', '}', ']', ',', '{}', 'null', '\0', '\u00a0', '\v', '//', '1'))
  .map(
    ([make, tail]): BodyMaker =>
      (fresh) =>
        unreadable(Buffer.concat([make(fresh).bytes, Buffer.from(tail)])),
  );

const notUtf8 = fc
  .tuple(plain, fc.constantFrom(...values.NOT_UTF8), fc.nat(0xffff))
  .map(([make, insert, at]): BodyMaker => (fresh) => {
    const { bytes } = make(fresh);
    let position = at % (bytes.length + 1);
    // Only at the boundary of a character is every insert invalid.
    while (((bytes[position] ?? 0) & 0xc0) === 0x80) position--;
    const parts = [bytes.subarray(0, position), Buffer.from(insert), bytes.subarray(position)];
    return unreadable(Buffer.concat(parts));
  });

const otherEncoding = fc
  .tuple(plain, fc.constantFrom('utf16le', 'utf16be', 'bom'))
  .map(([make, encoding]): BodyMaker => (fresh) => {
    const { bytes } = make(fresh);
    if (encoding === 'bom') return unreadable(Buffer.concat([Buffer.from('\ufeff'), bytes]));
    const utf16 = Buffer.from(bytes.toString(), 'utf16le');
    return unreadable(encoding === 'utf16le' ? utf16 : utf16.swap16());
  });

const notJson = fc.constantFrom(...values.NOT_JSON_BODIES).map(
  (body): BodyMaker =>
    () =>
      unreadable(body),
);

const notAnObject = fc
  .tuple(fc.constantFrom(...values.NOT_OBJECTS), styleArbitrary)
  .map(([value, chosen]): BodyMaker => () => {
    const choices = new Choices(chosen);
    return {
      bytes: Buffer.from(spellGap(choices) + value + spellGap(choices)),
      verdict: { kind: 'invalid', faults: [], repeated: false },
    };
  });

const tooDeep = fc.tuple(fc.constantFrom(65, 66, 2_000, 50_000), fc.boolean()).map(
  ([levels, asObjects]): BodyMaker =>
    () =>
      unreadable(
        asObjects ? values.nestedObjects(Math.min(levels, 15_000)) : values.nested(levels, ''),
      ),
);

const manyDigits = styleArbitrary.map(
  (chosen): BodyMaker =>
    () =>
      bodyOf({
        id: values.badNumber(values.MANY_DIGITS),
        name: values.goodText('a'),
        tag: undefined,
        extras: [],
        again: undefined,
        style: chosen,
      }),
);

/** The limit of 102,400 bytes, from both sides, and well beyond. */
const sized = fc
  .tuple(objects, fc.constantFrom(102_400, 102_399, 102_401, 102_402, 110_000, 300_000))
  .map(
    ([make, length]): BodyMaker =>
      (fresh) =>
        padTo(length, make(fresh)),
  );

/** Bodies of every kind, each with the verdict on it. */
export const bodyArbitrary: fc.Arbitrary<BodyMaker> = fc.oneof(
  weighted(600, objects),
  weighted(30, truncated),
  weighted(20, notUtf8),
  weighted(20, notJson),
  weighted(20, notAnObject),
  weighted(10, trailed),
  weighted(8, otherEncoding),
  weighted(4, sized),
  weighted(1, tooDeep),
  weighted(1, manyDigits),
);
