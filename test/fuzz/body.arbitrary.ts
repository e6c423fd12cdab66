import fc from 'fast-check';
import {
  type ApiDocument,
  type DocumentedOperation,
  type SchemaObject,
  listTypes,
} from './api-document.js';
import { jsonText, membersText, RawText, Style } from './json-text.js';
import { anyFraction, badValues, goodValue, unicodeText } from './schema.arbitrary.js';
import * as texts from './texts.js';

/** The verdict on a body, which is known from how it was written. */
export type Verdict =
  | { readonly kind: 'good'; readonly content: Readonly<Record<string, unknown>> }
  /** JSON that the schema refuses: the faulty members; none if it is no object. */
  | { readonly kind: 'invalid'; readonly faults: readonly string[]; readonly isRepeated: boolean }
  /** Not JSON in UTF-8, or nested too deep. */
  | { readonly kind: 'unreadable' };

export interface Body {
  readonly bytes: Buffer;
  readonly verdict: Verdict;
}

/** The text in place of a value, and its verdict. */
interface Written {
  readonly value: unknown;
  readonly meaning: 'good' | 'wrong' | 'broken';
}

/** A member of a body that is, or nearly is, a JSON object. */
type Member = readonly [name: string, written: Written];

/** Makes a body in which these members have these values, if they are present and valid. */
export type BodyMaker = (keys: Readonly<Record<string, unknown>>) => Body;

/** The levels that a member's value may have: its object is one of the 64. */
const VALUE_LEVELS = 63;
/** The limit of a body, in bytes. */
export const BODY_LIMIT = 102_400;

export const styleArbitrary: fc.Arbitrary<readonly number[]> = fc.oneof(
  { weight: 1, arbitrary: fc.constant([]) },
  { weight: 3, arbitrary: fc.array(fc.nat(2 ** 31 - 1), { minLength: 8, maxLength: 60 }) },
);

function weighted<T>(weight: number, arbitrary: fc.Arbitrary<T>): fc.WeightedArbitrary<T> {
  return { weight, arbitrary };
}

function good(value: unknown): Written {
  return { value, meaning: 'good' };
}

function wrong(value: unknown): Written {
  return { value, meaning: 'wrong' };
}

function broken(text: string): Written {
  return { value: new RawText(text), meaning: 'broken' };
}

/** Makes a meaningless value with this many levels. */
function deep(levels: number, asObjects: boolean): Written {
  const text = asObjects ? texts.nestedObjects(levels) : texts.nested(levels, '');
  return levels > VALUE_LEVELS ? broken(text) : wrong(new RawText(text));
}

/** Bodies of an operation that takes JSON. */
export class Bodies {
  /** Of every kind, each with the verdict on it. */
  readonly any: fc.Arbitrary<BodyMaker>;
  /** Objects that the schema accepts. */
  readonly good: fc.Arbitrary<BodyMaker>;
  private readonly schema: SchemaObject;
  private readonly members: readonly (readonly [name: string, schema: SchemaObject])[];

  constructor(
    { bodySchema = {} }: DocumentedOperation,
    private readonly document: ApiDocument,
  ) {
    this.schema = bodySchema;
    this.members = Object.entries(bodySchema.properties ?? {});
    this.good = this.accepted(bodySchema);
    const whole = this.accepted({ ...bodySchema, required: this.names });
    const objects = this.objects();
    this.any = fc.oneof(
      weighted(600, objects),
      weighted(30, truncated(whole)),
      weighted(20, notUtf8(whole)),
      weighted(20, spoiled(whole)),
      weighted(20, oneOf(texts.NOT_OBJECTS.map(notAnObject))),
      weighted(8, inOtherEncoding(whole)),
      weighted(4, sized(objects)),
      weighted(1, oneOf(TOO_DEEP.map(unreadable))),
      weighted(1, this.manyDigits()),
    );
  }

  private get names(): string[] {
    return this.members.map(([name]) => name);
  }

  /**
   * Lists every value that must be refused once.
   *
   * @param withSyntax whether every way not to be JSON as well
   */
  rows(withSyntax: boolean): BodyMaker[] {
    const sampled = goodValue({ ...this.schema, required: this.names }, this.document);
    const [content] = fc.sample(sampled, { seed: 1, numRuns: 1 }) as [Record<string, unknown>];
    const withMember =
      (name: string, ...written: Written[]): BodyMaker =>
      (keys) => {
        const others = Object.entries(withKeys(content, keys)).filter(([other]) => other !== name);
        return this.writeBody([
          ...others.map(([other, value]): Member => [other, good(value)]),
          ...written.map((one): Member => [name, one]),
        ]);
      };
    const whole = Buffer.from(jsonText(content));
    const [first = 'other'] = this.names;
    const fixed: Body[] = texts.NOT_OBJECTS.map(notAnObject);
    const notJson: Body[] = [
      ...texts.SPOILERS.map((spoil) => unreadable(spoil(whole.toString()))),
      ...texts.NOT_UTF8.map((bytes, index) => unreadable(inserted(whole, bytes, index))),
      ...Array.from(whole.keys(), (length) => unreadable(whole.subarray(0, length))),
      ...TOO_DEEP.map(unreadable),
    ];
    const values = [
      ...this.members.flatMap(([name, schema]) => [
        ...badValues(schema, this.document).map((value) => withMember(name, wrong(value))),
        withMember(name),
        withMember(name, good(content[name]), good(content[name])),
        withMember(name, deep(64, true)),
      ]),
      ...texts.EXTRA_NAMES.map((name) => withMember(name, wrong(null))),
      ...texts.EXTRA_VALUES.map((value) => withMember('other', wrong(new RawText(value)))),
      ...[1, 62, 63, 64, 65, 5_000].map((levels) => withMember('other', deep(levels, false))),
      ...[2, 63, 64, 5_000].map((levels) => withMember('other', deep(levels, true))),
      ...fixed.map((body) => () => body),
    ];
    if (!withSyntax) return values;
    const inMembers = texts.NOT_JSON.flatMap((one) =>
      [first, 'other'].map((name) => withMember(name, broken(one))),
    );
    return [...values, ...inMembers, ...notJson.map((body) => () => body)];
  }

  /** Writes an object with valid members in one of the styles. */
  of(content: Readonly<Record<string, unknown>>, style: readonly number[]): Body {
    const members = Object.entries(content).map(([name, value]): Member => [name, good(value)]);
    return this.writeBody(members, style);
  }

  private accepted(schema: SchemaObject): fc.Arbitrary<BodyMaker> {
    return fc
      .tuple(goodValue(schema, this.document), styleArbitrary)
      .map(([content, choices]): BodyMaker => (keys) => {
        return this.of(withKeys(content as Record<string, unknown>, keys), choices);
      });
  }

  /** Bodies that are, or nearly are, an object of the schema. */
  private objects(): fc.Arbitrary<BodyMaker> {
    const members = this.members.map(([name, schema]) => this.makeMember(name, schema));
    const twice = fc.oneof(
      weighted(30, fc.constant('')),
      weighted(1, fc.constantFrom(...this.names, '')),
    );
    const extras = fc.oneof(
      weighted(3, fc.constant<Member[]>([])),
      weighted(1, fc.array(this.extra(), { minLength: 1, maxLength: 3 })),
    );
    return fc
      .tuple(fc.tuple(...members), twice, extras, styleArbitrary)
      .map(([all, repeated, others, choices]): BodyMaker => (keys) => {
        const written = all.flat().map(([name, one]): Member => {
          const isKey = one.meaning === 'good' && name in keys;
          return [name, isKey ? good(keys[name]) : one];
        });
        const again = written.filter(([name]) => name === repeated);
        return this.writeBody([...written, ...again, ...others], choices);
      });
  }

  /** A member that is mostly valid, and else missing or faulty in one of the ways. */
  private makeMember(name: string, schema: SchemaObject): fc.Arbitrary<Member[]> {
    const isRequired = this.schema.required?.includes(name) === true;
    const bad = badValues(schema, this.document);
    const written = fc.oneof(
      weighted(200, goodValue(schema, this.document).map(good)),
      weighted(5, fc.constantFrom(...texts.NOT_JSON).map(broken)),
      weighted(
        1,
        fc.constantFrom(64, 65, 1_000, 9_000).map((levels) => deep(levels, true)),
      ),
      ...(bad.length === 0 ? [] : [weighted(20, fc.constantFrom(...bad).map(wrong))]),
      ...(listTypes(this.document.resolve(schema)).join() === 'integer'
        ? [weighted(3, anyFraction.map(wrong))]
        : []),
    );
    return fc.oneof(
      weighted(
        isRequired ? 50 : 3,
        written.map((one): Member[] => [[name, one]]),
      ),
      weighted(isRequired ? 1 : 2, fc.constant<Member[]>([])),
    );
  }

  /** A member of any other name: it changes nothing, as long as it is JSON. */
  private extra(): fc.Arbitrary<Member> {
    const name = fc.oneof(
      weighted(3, fc.constantFrom(...texts.EXTRA_NAMES)),
      weighted(1, unicodeText),
    );
    const written = fc.oneof(
      weighted(
        8,
        fc.constantFrom(...texts.EXTRA_VALUES).map((one) => wrong(new RawText(one))),
      ),
      weighted(
        2,
        fc.json({ maxDepth: 2 }).map((one) => wrong(new RawText(one))),
      ),
      weighted(
        1,
        fc.constantFrom(1, 62, 63, 64, 9_000).map((levels) => deep(levels, false)),
      ),
      weighted(1, fc.constantFrom(...texts.NOT_JSON).map(broken)),
    );
    return fc
      .tuple(name, written)
      .map(([one, value]) => [this.names.includes(one) ? `_${one}` : one, value]);
  }

  /** Writes the members as one text, with its verdict. */
  private writeBody(members: readonly Member[], choices: readonly number[] = []): Body {
    const style = new Style(choices);
    const shuffled: Member[] = [];
    for (const member of members) {
      shuffled.splice(shuffled.length - style.below(shuffled.length + 1), 0, member);
    }
    const text = membersText(
      shuffled.map(([name, { value }]) => [name, value]),
      style,
    );
    return { bytes: Buffer.from(text), verdict: this.verdictOf(members) };
  }

  private verdictOf(members: readonly Member[]): Verdict {
    if (members.some(([, { meaning }]) => meaning === 'broken')) return { kind: 'unreadable' };
    const content: Record<string, unknown> = {};
    const faults: string[] = [];
    let isRepeated = false;
    for (const name of this.names) {
      const [written, ...others] = members.filter(([one]) => one === name).map(([, one]) => one);
      if (others.length > 0) isRepeated = true;
      if (written === undefined && this.schema.required?.includes(name) !== true) continue;
      if (written?.meaning !== 'good' || others.length > 0) faults.push(name);
      else content[name] = written.value;
    }
    return faults.length > 0 ? { kind: 'invalid', faults, isRepeated } : { kind: 'good', content };
  }

  /** A number that takes a second or more to convert digit by digit. */
  private manyDigits(): fc.Arbitrary<BodyMaker> {
    const [name = 'other'] =
      this.members.find(([, schema]) =>
        listTypes(this.document.resolve(schema)).includes('integer'),
      ) ?? [];
    return styleArbitrary.map((choices): BodyMaker => () => {
      return this.writeBody([[name, wrong(texts.MANY_DIGITS)]], choices);
    });
  }
}

const TOO_DEEP = [
  texts.nested(65, ''),
  texts.nested(66, ''),
  texts.nested(50_000, ''),
  texts.nestedObjects(2_000),
  texts.nestedObjects(15_000),
];

/** The content with other values of those of its members that are keys. */
function withKeys(
  content: Readonly<Record<string, unknown>>,
  keys: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const changed = Object.entries(keys).filter(([name]) => name in content);
  return { ...content, ...Object.fromEntries(changed) };
}

function oneOf(bodies: readonly Body[]): fc.Arbitrary<BodyMaker> {
  return fc.constantFrom(...bodies).map((body) => () => body);
}

function unreadable(bytes: Uint8Array | string): Body {
  return { bytes: Buffer.from(bytes as string), verdict: { kind: 'unreadable' } };
}

function notAnObject(text: string): Body {
  return { bytes: Buffer.from(text), verdict: { kind: 'invalid', faults: [], isRepeated: false } };
}

function changed<T>(
  made: fc.Arbitrary<BodyMaker>,
  how: fc.Arbitrary<T>,
  change: (bytes: Buffer, how: T) => Uint8Array | string,
): fc.Arbitrary<BodyMaker> {
  return fc.tuple(made, how).map(
    ([make, chosen]): BodyMaker =>
      (keys) =>
        unreadable(change(make(keys).bytes, chosen)),
  );
}

/** Ends too early: an object lacks at least its closing brace. */
function truncated(made: fc.Arbitrary<BodyMaker>): fc.Arbitrary<BodyMaker> {
  return changed(made, fc.nat(0xffff), (bytes, at) =>
    bytes.subarray(0, at % (bytes.lastIndexOf('}') + 1)),
  );
}

function spoiled(made: fc.Arbitrary<BodyMaker>): fc.Arbitrary<BodyMaker> {
  return changed(made, fc.constantFrom(...texts.SPOILERS), (bytes, spoil) =>
    spoil(bytes.toString()),
  );
}

function notUtf8(made: fc.Arbitrary<BodyMaker>): fc.Arbitrary<BodyMaker> {
  const how = fc.tuple(fc.constantFrom(...texts.NOT_UTF8), fc.nat(0xffff));
  return changed(made, how, (bytes, [insert, at]) => inserted(bytes, insert, at));
}

/** Only at the boundary of a character is every insert invalid. */
function inserted(bytes: Buffer, insert: readonly number[], at: number): Buffer {
  let position = at % (bytes.length + 1);
  while (((bytes[position] ?? 0) & 0xc0) === 0x80) position--;
  return Buffer.concat([
    bytes.subarray(0, position),
    Buffer.from(insert),
    bytes.subarray(position),
  ]);
}

function inOtherEncoding(made: fc.Arbitrary<BodyMaker>): fc.Arbitrary<BodyMaker> {
  return changed(made, fc.boolean(), (bytes, isSwapped) => {
    const utf16 = Buffer.from(bytes.toString(), 'utf16le');
    return isSwapped ? utf16.swap16() : utf16;
  });
}

/** The limit from both sides, and well beyond. */
function sized(made: fc.Arbitrary<BodyMaker>): fc.Arbitrary<BodyMaker> {
  const size = fc.constantFrom(-1, 0, 1, 2, 8_000, 200_000).map((more) => BODY_LIMIT + more);
  return fc.tuple(made, size).map(
    ([make, length]): BodyMaker =>
      (keys) =>
        padTo(length, make(keys)),
  );
}

/** Adds white space until the body has the wanted length; a longer one stays as it is. */
export function padTo(length: number, { bytes, verdict }: Body): Body {
  const missing = Math.max(0, length - bytes.length);
  return { bytes: Buffer.concat([bytes, Buffer.alloc(missing, ' ')]), verdict };
}
