import fc from 'fast-check';
import type { Patch } from './model.js';

// How bodies are written: JSON has many spellings of one value.

/** The members of an object with their values as JSON. */
export type Members = readonly (readonly [name: string, json: string])[];

export interface Spelling {
  readonly number: number;
  readonly isEscaped: boolean;
  /** White space between all tokens. */
  readonly gap: string;
  readonly isReversed: boolean;
}

export const PLAIN: Spelling = { number: 0, isEscaped: false, gap: '', isReversed: false };

export const spellings: fc.Arbitrary<Spelling> = fc.record(
  {
    number: fc.nat(5),
    isEscaped: fc.boolean(),
    gap: fc.constantFrom('', '', ' ', '\t', '\r\n'),
    isReversed: fc.boolean(),
  },
  { noNullPrototype: true },
);

/** The members of a plant, or of a merge patch of one. */
export function toMembers(plant: Patch & { readonly id?: bigint }, spelling = PLAIN): Members {
  return (['id', 'name', 'tag'] as const).flatMap((member) => {
    const value = plant[member];
    if (value === undefined) return [];
    if (typeof value === 'bigint') return [[member, spellInteger(value, spelling.number)] as const];
    if (typeof value === 'string' && spelling.isEscaped) return [[member, escape(value)] as const];
    return [[member, JSON.stringify(value)] as const];
  });
}

export function writeObject(members: Members, { gap, isReversed }: Spelling): string {
  const texts = members.map(([name, json]) =>
    [gap, JSON.stringify(name), ':', json, gap].join(gap),
  );
  return `${gap}{${(isReversed ? texts.reverse() : texts).join()}}${gap}`;
}

/** Writes an integer in one of six ways. */
function spellInteger(integer: bigint, way: number): string {
  const [, sign = '', digits = ''] = /^(-?)(\d+)$/.exec(String(integer)) ?? [];
  if (integer === 0n) return ['0', '-0', '0.0', '0E+5', '0e-7', '0e99999999'][way] ?? '0';
  const ways = [
    digits,
    `${digits}.${'0'.repeat(500)}`,
    `${digits}e0`,
    `${digits}000E-3`,
    `0.${digits}e${digits.length}`,
    `${digits.slice(0, 1)}.${digits.slice(1)}0e+00${digits.length - 1}`,
  ];
  return sign + (ways[way] ?? digits);
}

/** Writes a text with an escape for each of its UTF-16 units, unless it is long. */
function escape(text: string): string {
  if (text.length > 1_000) return JSON.stringify(text);
  const units = text.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return `"${units.map((hex) => `\\u${hex}`).join('')}"`;
}
