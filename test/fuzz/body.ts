import fc from 'fast-check';
import type { Patch } from './model.js';

// How bodies are written: JSON has many spellings of one value.

/** The members of an object with their values as JSON. */
export type Members = readonly (readonly [name: string, json: string])[];

export interface Spelling {
  readonly number: number;
  readonly text: number;
  /** White space between all tokens. */
  readonly gap: string;
  readonly isReversed: boolean;
}

export const PLAIN: Spelling = { number: 0, text: 0, gap: '', isReversed: false };

export const spellings: fc.Arbitrary<Spelling> = fc.record(
  {
    number: fc.nat(7),
    text: fc.nat(3),
    gap: fc.constantFrom('', '', ' ', '\t', '\r\n', ' \t\n\r '),
    isReversed: fc.boolean(),
  },
  { noNullPrototype: true },
);

/** The members of a plant, or of a merge patch of one. */
export function toMembers(plant: Patch & { readonly id?: bigint }, spelling = PLAIN): Members {
  return (['id', 'name', 'tag'] as const).flatMap((member) => {
    const value = plant[member];
    if (value === undefined) return [];
    if (value === null) return [[member, 'null'] as const];
    if (typeof value === 'bigint') return [[member, spellInteger(value, spelling.number)] as const];
    return [[member, spellText(value, spelling.text)] as const];
  });
}

export function writeObject(members: Members, { gap, isReversed }: Spelling): string {
  const texts = members.map(([name, json]) =>
    [gap, JSON.stringify(name), ':', json, gap].join(gap),
  );
  return `${gap}{${(isReversed ? texts.reverse() : texts).join()}}${gap}`;
}

/** Writes an integer in one of eight ways. */
function spellInteger(integer: bigint, way: number): string {
  const [, sign = '', digits = ''] = /^(-?)(\d+)$/.exec(String(integer)) ?? [];
  if (integer === 0n) {
    return (
      ['0', '-0', '0.0', '-0.000', '0E+5', '0e-7', '0e99999999', `0e${'9'.repeat(400)}`][way] ?? '0'
    );
  }
  const ways = [
    digits,
    `${digits}.0`,
    `${digits}.${'0'.repeat(500)}`,
    `${digits}e0`,
    `${digits}000E-3`,
    `0.${digits}e${digits.length}`,
    `${digits.slice(0, 1)}.${digits.slice(1)}0e+00${digits.length - 1}`,
    `0.0000${digits}E${digits.length + 4}`,
  ];
  return sign + (ways[way] ?? digits);
}

/** Writes a text in one of four ways. */
function spellText(text: string, way: number): string {
  if (way === 0 || text.length > 1_000) return JSON.stringify(text);
  if (way === 1) return JSON.stringify(text).replaceAll('/', '\\/');
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  const escapes = units.map((unit) => unit.toString(16).padStart(4, '0'));
  return `"${escapes.map((hex) => `\\u${way === 2 ? hex : hex.toUpperCase()}`).join('')}"`;
}
