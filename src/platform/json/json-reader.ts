/** How deep objects and arrays may nest, including the outermost object. */
const MAX_DEPTH = 64;

/** How many further characters of the body a string may keep in memory. */
const SHARED_TEXT = 256;

/** The value of a member that the client sent twice. No validation rule accepts it. */
export const GIVEN_TWICE = Symbol('given twice');

/**
 * How a JSON value is read. A value of another type is read too, so that validation rules can
 * reject it, but without its members:
 *
 * - `scalar`: a string, a double, a boolean or null
 * - `json`: anything, as `JSON.parse` reads it
 * - a reader: what it makes of the text
 */
export type ValueShape = 'scalar' | 'json' | ValueReader | ArrayShape | ObjectShape;

/** Converts JSON values. A value for which it returns undefined is read as a scalar. */
export interface ValueReader {
  /** Gets a number as it is written. */
  readonly readNumber?: (source: string) => unknown;
  /** Gets a string without its quotes and escapes. */
  readonly readString?: (text: string) => unknown;
  /** Gets any value as it is written. */
  readonly readJson?: (source: string) => unknown;
}

/** An array, each element of the same shape. */
export interface ArrayShape {
  readonly items: ValueShape;
}

/**
 * An object as an instance of a class. The syntax of other members is checked, but they are
 * skipped.
 */
export interface ObjectShape {
  readonly type: new () => object;
  readonly members: readonly MemberShape[];
}

export interface MemberShape {
  /** Without quotes and backslashes. */
  readonly name: string;
  readonly shape: ValueShape;
}

/** The values of objects and arrays in place of an expected scalar. Only their types matter. */
const SOME_OBJECT: unknown = Object.freeze({});
const SOME_ARRAY: unknown = Object.freeze([]);

/**
 * The text is not JSON (RFC 8259), or nests too deep. The message is for the client, and continues
 * a sentence such as "The text ...".
 */
export class JsonSyntaxError extends Error {}

/** The text is JSON, but its value is not an object. */
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
 * Reads a JSON object as an instance of a class. Checks the syntax of the whole text, but builds no
 * values of members that the shape does not name. A member that is given twice becomes {@link
 * GIVEN_TWICE}. Takes time linear in the text.
 *
 * @throws JsonSyntaxError, NotAnObjectError
 */
export function readJson(text: string, shape: ObjectShape): object {
  return new JsonReader(text).read(shape);
}

class JsonReader {
  private position = 0;

  constructor(private readonly text: string) {}

  read(shape: ObjectShape): object {
    if (this.skipSpace() !== OPEN_BRACE) {
      this.skipValue(1);
      this.expectEnd();
      throw new NotAnObjectError();
    }
    const object = this.readObject(shape, 1);
    this.expectEnd();
    return object;
  }

  private readObject({ type, members }: ObjectShape, depth: number): object {
    this.checkDepth(depth);
    const values = new Array<unknown>(members.length);
    for (let more = this.enter(CLOSE_BRACE); more; more = this.advance(CLOSE_BRACE)) {
      const index = this.readName(members);
      const member = members[index];
      if (member === undefined) {
        this.skipValue(depth + 1);
      } else if (values[index] === undefined) {
        values[index] = this.readValue(member.shape, depth + 1);
      } else {
        this.skipValue(depth + 1);
        values[index] = GIVEN_TWICE;
      }
    }
    const object = new type() as Record<string, unknown>;
    for (let index = 0; index < members.length; index++) {
      const name = members[index]?.name;
      if (name !== undefined && values[index] !== undefined) object[name] = values[index];
    }
    return object;
  }

  /**
   * Skips a name and its colon. @returns the index of the member, or -1 if the shape has no such
   * member
   */
  private readName(members: readonly MemberShape[]): number {
    if (this.skipSpace() !== QUOTE) this.fail('a member name in double quotes was expected');
    const { text, position: start } = this;
    let index = members.length - 1;
    for (; index >= 0; index--) {
      const name = members[index]?.name ?? '';
      const isClosed = text.charCodeAt(start + 1 + name.length) === QUOTE;
      if (isClosed && text.startsWith(name, start + 1)) break;
    }
    const hasEscapes = this.skipString();
    if (hasEscapes) {
      const name: unknown = JSON.parse(text.slice(start, this.position));
      index = members.findIndex((member) => member.name === name);
    }
    if (this.skipSpace() !== COLON) this.fail('":" was expected');
    this.position++;
    return index;
  }

  private readValue(shape: ValueShape, depth: number): unknown {
    const first = this.skipSpace();
    if (typeof shape === 'object') {
      if ('members' in shape) {
        if (first === OPEN_BRACE) return this.readObject(shape, depth);
      } else if ('items' in shape) {
        if (first === OPEN_BRACKET) return this.readArray(shape, depth);
      } else if (shape.readJson !== undefined) {
        const start = this.position;
        this.skipValue(depth);
        const value = shape.readJson(this.text.slice(start, this.position));
        return value === undefined ? SOME_OBJECT : value;
      } else if (first === QUOTE) {
        const text = this.readString();
        return shape.readString?.(text) ?? text;
      }
    }
    if (first === QUOTE) return this.readString();
    const start = this.position;
    this.skipValue(depth);
    if (first === OPEN_BRACE || first === OPEN_BRACKET) {
      if (shape === 'json') return JSON.parse(this.text.slice(start, this.position));
      return first === OPEN_BRACE ? SOME_OBJECT : SOME_ARRAY;
    }
    const source = this.text.slice(start, this.position);
    if (LITERALS.has(source)) return LITERALS.get(source);
    const readNumber = typeof shape === 'object' && 'readNumber' in shape && shape.readNumber;
    return (readNumber ? readNumber(source) : undefined) ?? Number(source);
  }

  private readArray({ items }: ArrayShape, depth: number): unknown[] {
    this.checkDepth(depth);
    const values: unknown[] = [];
    for (let more = this.enter(CLOSE_BRACKET); more; more = this.advance(CLOSE_BRACKET)) {
      values.push(this.readValue(items, depth + 1));
    }
    return values;
  }

  private skipValue(depth: number): void {
    const first = this.skipSpace();
    if (first === QUOTE) this.skipString();
    else if (first === OPEN_BRACE || first === OPEN_BRACKET) this.skipNested(first, depth);
    else if (!this.skipNumber() && !this.skipLiteral()) this.fail('a value was expected');
  }

  private skipNested(first: number, depth: number): void {
    this.checkDepth(depth);
    const close = first === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
    for (let more = this.enter(close); more; more = this.advance(close)) {
      if (close === CLOSE_BRACE) this.readName([]);
      this.skipValue(depth + 1);
    }
  }

  private checkDepth(depth: number): void {
    if (depth > MAX_DEPTH) {
      throw new JsonSyntaxError(`nests deeper than ${MAX_DEPTH} levels`);
    }
  }

  /** Skips the start of an object or an array. @returns whether it has an element */
  private enter(close: number): boolean {
    this.position++;
    if (this.skipSpace() !== close) return true;
    this.position++;
    return false;
  }

  /** Skips the separator or the end after an element. @returns whether another element follows */
  private advance(close: number): boolean {
    const next = this.skipSpace();
    if (next !== COMMA && next !== close) {
      this.fail(`"," or "${String.fromCharCode(close)}" was expected`);
    }
    this.position++;
    return next === COMMA;
  }

  private readString(): string {
    const { text, position: start } = this;
    const hasEscapes = this.skipString();
    // A slice would keep the whole body in memory, since V8 shares the memory of the text.
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
        // The code is NaN at the end of the text.
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
    throw new JsonSyntaxError(`is not JSON: ${reason}, at character ${position + 1}`);
  }
}
