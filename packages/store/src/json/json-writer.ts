import { Decimal } from './decimal.js';
import { JsonNumber, type Shape } from './json.js';
import { JsonText } from './json-text.js';

/**
 * Writes JSON like `JSON.stringify`, but a bigint, a Decimal or a JsonNumber becomes a number with
 * all its digits, a JsonText its text, and a Map an object.
 *
 * @returns `null` for a value that JSON cannot express, such as undefined
 * @throws RangeError for a value that contains itself
 * @example
 * ```ts
 * writeJson({ id: 9007199254740993n, price: new Decimal(1250n, 2) });
 * // {"id":9007199254740993,"price":12.50}
 * ```
 */
export function writeJson(value: unknown): string {
  return write(value) ?? 'null';
}

/** Strings that need no escaping, the common case: quoted directly, twice as fast. */
const PLAIN = /^[\w .,:;-]*$/;

function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Like `JSON.stringify`, returns undefined for a value that JSON cannot express. */
function write(value: unknown): string | undefined {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof JsonText) return value.text;
  if (value instanceof Decimal) return value.toString();
  if (value instanceof JsonNumber) return value.source;
  if (hasToJson(value)) return write(value.toJSON());
  let text = '';
  if (Array.isArray(value)) {
    for (const element of value) text += `,${write(element) ?? 'null'}`;
    return `[${text.slice(1)}]`;
  }
  const members = value instanceof Map ? (value as Map<string, unknown>) : Object.entries(value);
  for (const [name, member] of members) {
    const written = write(member);
    if (written !== undefined) text += `,${quote(name)}:${written}`;
  }
  return `{${text.slice(1)}}`;
}

function hasToJson(value: object): value is { toJSON: () => unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

/**
 * Reads any value as its JSON text without white space between the parts. The text is undefined if
 * an object has a member twice.
 *
 * @example
 * ```ts
 * readJson('{ "id": 1 }', TEXT); // {"id":1}
 * ```
 */
export const TEXT: Shape = {
  getMember: () => TEXT,
  get elements() {
    return TEXT;
  },
  convert: (value) => {
    if (value instanceof JsonNumber) return value.source;
    if (typeof value === 'string') return quote(value);
    if (typeof value !== 'object' || value === null) return String(value);
    // Cutting off a first comma would copy the text of every level.
    if (Array.isArray(value)) {
      let list = '[';
      for (const element of value as unknown[]) {
        if (typeof element !== 'string') return undefined;
        list += list.length === 1 ? element : `,${element}`;
      }
      return `${list}]`;
    }
    let object = '{';
    for (const [name, member] of value as Map<string, unknown>) {
      if (typeof member !== 'string') return undefined;
      object += `${object.length === 1 ? '' : ','}${quote(name)}:${member}`;
    }
    return `${object}}`;
  },
};
