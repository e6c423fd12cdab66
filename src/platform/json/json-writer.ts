import { Decimal } from './decimal.js';
import { JsonText } from './json-text.js';

/**
 * Writes JSON like `JSON.stringify`, but a bigint or a Decimal becomes a number with all its
 * digits, and a JsonText its text.
 *
 * @throws RangeError for a value that contains itself
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
  if (hasToJson(value)) return write(value.toJSON());
  let text = '';
  if (Array.isArray(value)) {
    for (const element of value) text += `,${write(element) ?? 'null'}`;
    return `[${text.slice(1)}]`;
  }
  for (const [name, member] of Object.entries(value)) {
    const written = write(member);
    if (written !== undefined) text += `,${quote(name)}:${written}`;
  }
  return `{${text.slice(1)}}`;
}

function hasToJson(value: object): value is { toJSON: () => unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}
