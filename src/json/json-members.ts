import { parseInt64 } from './json-number.js';

/** How deep objects and arrays may nest, the outermost object counted. */
const MAX_DEPTH = 64;

/** How much text besides itself a string may keep in memory, in characters. */
const SHARED_TEXT = 256;

/** Stands for a member that the client wrote twice. No validation rule accepts it. */
export const GIVEN_TWICE = Symbol('given twice');

/** A member to read, and whether its numbers are exact integers or doubles. */
export interface Member {
  readonly name: string;
  readonly number: 'int64' | 'double';
}

/** The text is not JSON (RFC 8259), or nests too deep. The message is fit for the client. */
export class JsonSyntaxError extends Error {}

/** The text is JSON, and its value is not an object. */
export class NotAnObjectError extends Error {}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const LITERALS = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/**
 * Reads the named members of a JSON object, in the order of `members`; undefined stands for an
 * absent one. The whole text is checked against the grammar, and nothing is built of the members
 * that were not asked for. An `int64` member that is an integer in range is a bigint, any other
 * number is a number; a member written twice is {@link GIVEN_TWICE}.
 *
 * @throws JsonSyntaxError, NotAnObjectError
 */
export function readMembers(text: string, members: readonly Member[]): unknown[] {
  return new JsonReader(text).readMembers(members);
}

class JsonReader {
  private position = 0;

  constructor(private readonly text: string) {}

  readMembers(members: readonly Member[]): unknown[] {
    const values = new Array<unknown>(members.length).fill(undefined);
    if (this.skipSpace() !== OPEN_BRACE) {
      this.skipValue(1);
      this.expectEnd();
      throw new NotAnObjectError();
    }
    this.skipObject((name) => {
      const index = members.findIndex((member) => member.name === name);
      const member = members[index];
      if (member === undefined) {
        this.skipValue(2);
      } else {
        const value = this.readValue(member);
        values[index] = values[index] === undefined ? value : GIVEN_TWICE;
      }
    });
    this.expectEnd();
    return values;
  }

  private readValue(member: Member): unknown {
    const first = this.skipSpace();
    if (first === QUOTE) return this.readString();
    const start = this.position;
    this.skipValue(2);
    const source = this.text.slice(start, this.position);
    if (first === OPEN_BRACE || first === OPEN_BRACKET) return JSON.parse(source);
    if (LITERALS.has(source)) return LITERALS.get(source);
    return (member.number === 'int64' ? parseInt64(source) : undefined) ?? Number(source);
  }

  private skipValue(depth: number): void {
    const first = this.skipSpace();
    if (first === QUOTE) this.skipString();
    else if (first === OPEN_BRACE || first === OPEN_BRACKET) this.skipNested(first, depth);
    else if (!this.skipNumber() && !this.skipLiteral()) this.fail('a value was expected');
  }

  private skipNested(first: number, depth: number): void {
    if (depth > MAX_DEPTH) {
      throw new JsonSyntaxError(`The body nests deeper than ${MAX_DEPTH} levels`);
    }
    if (first === OPEN_BRACE) this.skipObject(() => this.skipValue(depth + 1));
    else this.skipSequence(CLOSE_BRACKET, () => this.skipValue(depth + 1));
  }

  private skipObject(onMember: (name: string) => void): void {
    this.skipSequence(CLOSE_BRACE, () => {
      if (this.skipSpace() !== QUOTE) this.fail('a member name in double quotes was expected');
      const name = this.readString();
      if (this.skipSpace() !== COLON) this.fail('":" was expected');
      this.position++;
      onMember(name);
    });
  }

  private skipSequence(close: number, skipElement: () => void): void {
    this.position++;
    if (this.skipSpace() === close) {
      this.position++;
      return;
    }
    for (;;) {
      skipElement();
      const next = this.skipSpace();
      if (next !== COMMA && next !== close) {
        this.fail(`"," or "${String.fromCharCode(close)}" was expected`);
      }
      this.position++;
      if (next === close) return;
    }
  }

  private readString(): string {
    const { text, position: start } = this;
    const hasEscapes = this.skipString();
    // V8 makes a slice share the memory of the whole text: a short one must not keep a long body.
    const isPart = text.length - (this.position - start) > SHARED_TEXT;
    return hasEscapes || isPart
      ? (JSON.parse(text.slice(start, this.position)) as string)
      : text.slice(start + 1, this.position - 1);
  }

  /** @returns whether the string has escapes */
  private skipString(): boolean {
    const text = this.text;
    let hasEscapes = false;
    let position = this.position + 1;
    for (;;) {
      const code = text.charCodeAt(position);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        hasEscapes = true;
        ESCAPE.lastIndex = position;
        if (!ESCAPE.test(text)) this.failAt(position, 'this is not an escape sequence');
        position = ESCAPE.lastIndex;
      } else if (code >= SPACE) {
        position++;
      } else {
        // NaN is the end of the text.
        this.failAt(
          position,
          code < SPACE ? 'a control character must be escaped' : 'a closing quote was expected',
        );
      }
    }
    this.position = position + 1;
    return hasEscapes;
  }

  private skipNumber(): boolean {
    NUMBER.lastIndex = this.position;
    if (!NUMBER.test(this.text)) return false;
    this.position = NUMBER.lastIndex;
    return true;
  }

  private skipLiteral(): boolean {
    for (const literal of LITERALS.keys()) {
      if (this.text.startsWith(literal, this.position)) {
        this.position += literal.length;
        return true;
      }
    }
    return false;
  }

  /** @returns the code of the next character that is not white space, NaN at the end */
  private skipSpace(): number {
    for (;;) {
      const code = this.text.charCodeAt(this.position);
      if (code !== SPACE && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.position++;
    }
  }

  private expectEnd(): void {
    if (!Number.isNaN(this.skipSpace())) this.fail('nothing may follow the value');
  }

  private fail(reason: string): never {
    this.failAt(this.position, reason);
  }

  private failAt(position: number, reason: string): never {
    throw new JsonSyntaxError(`The body is not JSON: ${reason}, at character ${position + 1}`);
  }
}
