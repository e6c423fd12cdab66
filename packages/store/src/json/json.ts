import { Decimal } from './decimal.js';
import { INTEGER } from './json-number.js';

/** How deep objects and arrays may nest, including the outermost object. */
const MAX_DEPTH = 64;

/** The most digits of a Decimal that is read. */
const MAX_DIGITS = 22;

/** How many further characters of the text a string may keep in memory. */
const SHARED_TEXT = 256;
/** The length of the shortest string that V8 keeps as a part of the text that it was cut from. */
const SHORTEST_SHARED = 13;

/**
 * Stands for the values of a member that an object has twice.
 *
 * @example
 * ```ts
 * const object = parseJson('{"id":1,"id":2}') as JsonObject;
 * object.get('id') === GIVEN_TWICE; // true
 * ```
 */
export const GIVEN_TWICE = Symbol('given twice');

/**
 * A JSON number as it is written, since a JavaScript number would round it.
 *
 * @example
 * ```ts
 * const id = parseJson('9007199254740993') as JsonNumber;
 * parseInt64(id.source); // 9007199254740993n
 * ```
 */
export class JsonNumber {
  constructor(readonly source: string) {}

  toString(): string {
    return this.source;
  }
}

/**
 * Any JSON value with exact numbers.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8259 RFC 8259}
 * @example
 * ```ts
 * function isObject(json: Json): json is JsonObject {
 *   return json instanceof Map;
 * }
 * ```
 */
export type Json = null | boolean | string | JsonNumber | Json[] | JsonObject | typeof GIVEN_TWICE;
/**
 * The members of a JSON object by their names, in the order of the text.
 *
 * @example
 * ```ts
 * const plant = parseJson('{"name":"Monstera"}') as JsonObject;
 * plant.get('name'); // Monstera
 * ```
 */
export type JsonObject = Map<string, Json>;

/**
 * The text is not JSON, or objects and arrays nest more than 64 deep. The message is for the
 * client, and continues a sentence such as "The text ...". The error has no stack.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8259 RFC 8259}
 * @example
 * ```ts
 * try {
 *   parseJson('{"name":}');
 * } catch (error) {
 *   if (error instanceof JsonSyntaxError) console.log(`The text ${error.message}`);
 * }
 * ```
 */
export class JsonSyntaxError extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error;
    // Recording a stack takes longer than reading most texts.
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

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
const LITERAL = /true|false|null/y;

/**
 * How a value is read. Its parts that are not kept are checked, but take no memory.
 *
 * @example
 * ```ts
 * const nameAlone: Shape = {
 *   getMember: (name) => (name === 'name' ? SCALAR : undefined),
 *   elements: undefined,
 *   convert: (value) => value,
 * };
 * readJson('{"id":1,"name":"Monstera"}', nameAlone); // a Map with the name
 * ```
 */
export interface Shape {
  /** Returns the shape of a member of an object; undefined if it is not kept. */
  getMember(name: string): Shape | undefined;
  /** The shape of the elements of an array; undefined if they are not kept. */
  readonly elements: Shape | undefined;
  /** Converts the value, whose parts are converted already. */
  convert(value: unknown): unknown;
}

/**
 * Keeps strings, numbers and literals. An object or an array is read as an empty one.
 *
 * @example
 * ```ts
 * readJson('true', SCALAR); // true
 * ```
 */
export const SCALAR: Shape = {
  getMember: () => undefined,
  elements: undefined,
  convert: (value) => value,
};

/** The members of every object that has none, until its shape converts it. */
const NO_MEMBERS = new Map<string, unknown>();

/**
 * Keeps everything, as {@link Json}.
 *
 * @example
 * ```ts
 * const plant = readJson('{"name":"Monstera"}', WHOLE) as Json;
 * ```
 */
export const WHOLE: Shape = {
  getMember: () => WHOLE,
  get elements() {
    return WHOLE;
  },
  convert: (value) => (value === NO_MEMBERS ? new Map() : value),
};

const NO_ELEMENTS: unknown[] = [];

/**
 * Reads JSON text without rounding a number, in time linear in the text. A member that an object
 * has twice becomes {@link GIVEN_TWICE}.
 *
 * @returns what `shape` makes of the value
 * @throws JsonSyntaxError when the text is not JSON, or nests more than 64 deep
 * @see {@link https://www.rfc-editor.org/rfc/rfc8259 RFC 8259}
 * @example
 * ```ts
 * const plant = readJson('{"id":1,"name":"Monstera"}', WHOLE);
 * const text = readJson('{ "id": 1 }', TEXT); // {"id":1}
 * ```
 */
export function readJson(text: string, shape: Shape): unknown {
  return new JsonReader(text).read(shape);
}

/**
 * Reads JSON text as {@link readJson} does, and keeps everything.
 *
 * @throws JsonSyntaxError when the text is not JSON, or nests more than 64 deep
 * @example
 * ```ts
 * const plant = parseJson('{"id":9007199254740993}') as JsonObject;
 * String(plant.get('id')); // 9007199254740993
 * ```
 */
export function parseJson(text: string): Json {
  return readJson(text, WHOLE) as Json;
}

/**
 * Reads a value as objects and arrays of JavaScript. A number with digits after the point is a
 * {@link Decimal}, and an integer that JavaScript would round a bigint.
 */
const PLAIN: Shape = {
  getMember: () => PLAIN,
  get elements() {
    return PLAIN;
  },
  convert: (value) => {
    if (value instanceof Map) return Object.fromEntries(value as ReadonlyMap<string, unknown>);
    return value instanceof JsonNumber ? toPlainNumber(value) : value;
  },
};

function toPlainNumber(number: JsonNumber): unknown {
  const { source } = number;
  if (INTEGER.test(source)) {
    const integer = Number(source);
    return Number.isSafeInteger(integer) ? integer : BigInt(source);
  }
  const decimal = Decimal.parse(source, MAX_DIGITS, source.length - source.indexOf('.') - 1);
  // Such as -0.0 and 1e3, which only a member with any JSON can have.
  return String(decimal) === source ? decimal : number;
}

/**
 * Reads a list of values as objects and arrays of JavaScript, each as deep as {@link readJson}
 * allows. A number with digits after the point is a {@link Decimal}, and an integer that JavaScript
 * would round a bigint.
 *
 * @throws JsonSyntaxError when the text is not JSON, or a value nests more than 64 deep
 * @example
 * ```ts
 * const rows = readPlainList('[{"id":1,"price":12.50}]') as { id: number; price: Decimal }[];
 * ```
 */
export function readPlainList(text: string): unknown {
  return new JsonReader(text).read(PLAIN, 0);
}

/** Reads a list of values as {@link Json}, each as deep as {@link readJson} allows. */
export function parseJsonList(text: string): readonly Json[] {
  return new JsonReader(text).read(WHOLE, 0) as Json[];
}

class JsonReader {
  private position = 0;

  constructor(private readonly text: string) {}

  read(shape: Shape, depth = 1): unknown {
    const value = this.readValue(depth, shape);
    if (!Number.isNaN(this.skipSpace())) this.fail('nothing may follow the value');
    return value;
  }

  private readValue(depth: number, shape: Shape): unknown {
    const first = this.skipSpace();
    if (first === QUOTE) return shape.convert(this.readString());
    if (first === OPEN_BRACE) return shape.convert(this.readObject(depth, shape));
    if (first === OPEN_BRACKET) return shape.convert(this.readArray(depth, shape));
    return shape.convert(this.readNumberOrLiteral());
  }

  private readObject(depth: number, shape: Shape): ReadonlyMap<string, unknown> {
    let members = NO_MEMBERS;
    for (let more = this.enter(CLOSE_BRACE, depth); more; more = this.advance(CLOSE_BRACE)) {
      if (this.skipSpace() !== QUOTE) this.fail('a member name in double quotes was expected');
      const name = this.readString();
      if (this.skipSpace() !== COLON) this.fail('":" was expected');
      this.position++;
      const member = shape.getMember(name);
      const value = this.readValue(depth + 1, member ?? SCALAR);
      if (member !== undefined) {
        // Most of the objects in a long text are small or empty, and a Map takes much memory.
        if (members === NO_MEMBERS) members = new Map();
        members.set(name, members.has(name) ? GIVEN_TWICE : value);
      }
    }
    return members;
  }

  private readArray(depth: number, { elements }: Shape): unknown[] {
    let values = elements === undefined ? NO_ELEMENTS : [];
    for (let more = this.enter(CLOSE_BRACKET, depth); more; more = this.advance(CLOSE_BRACKET)) {
      const value = this.readValue(depth + 1, elements ?? SCALAR);
      if (elements !== undefined) {
        // V8 reserves memory for 16 more elements once one is pushed.
        if (values.length === 0) values = [value];
        else values.push(value);
      }
    }
    return values;
  }

  /** Skips the start of an object or an array. @returns whether it has an element */
  private enter(close: number, depth: number): boolean {
    if (depth > MAX_DEPTH) throw new JsonSyntaxError(`nests deeper than ${MAX_DEPTH} levels`);
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
    const length = this.position - start;
    // A long slice would keep the whole text in memory, since V8 shares its memory.
    const isShared = length >= SHORTEST_SHARED && text.length - length > SHARED_TEXT;
    return hasEscapes || isShared
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
        if (!ESCAPE.test(text)) this.fail('this is not an escape sequence', position);
        position = ESCAPE.lastIndex;
      } else if (code >= SPACE) {
        position++;
      } else {
        // The code is NaN at the end of the text.
        const isEnd = Number.isNaN(code);
        const reason = isEnd
          ? 'a closing quote was expected'
          : 'a control character must be escaped';
        this.fail(reason, position);
      }
    }
    this.position = position + 1;
    return hasEscapes;
  }

  private readNumberOrLiteral(): JsonNumber | boolean | null {
    const number = this.take(NUMBER);
    if (number !== undefined) return new JsonNumber(number);
    const literal = this.take(LITERAL) ?? this.fail('a value was expected');
    return JSON.parse(literal) as boolean | null;
  }

  /** Skips the text that a pattern matches, and returns it. */
  private take(pattern: RegExp): string | undefined {
    const { text, position } = this;
    pattern.lastIndex = position;
    if (!pattern.test(text)) return undefined;
    this.position = pattern.lastIndex;
    return text.slice(position, this.position);
  }

  /** @returns the code of the next character that is not white space, NaN at the end */
  private skipSpace(): number {
    for (;;) {
      const code = this.text.charCodeAt(this.position);
      if (code !== SPACE && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.position++;
    }
  }

  private fail(reason: string, position = this.position): never {
    throw new JsonSyntaxError(`is not JSON: ${reason}, at character ${position + 1}`);
  }
}
