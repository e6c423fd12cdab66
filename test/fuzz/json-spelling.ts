import { Choices } from './choices.js';

const SHORT_ESCAPES = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['/', '\\/'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);
/** What RFC 8259 section 7 does not let stand for itself, and what UTF-8 cannot carry. */
const MUST_ESCAPE = /["\\\p{Cs}]|[^ -\u{10ffff}]/u;
/** Above this length a text is spelled in the plain way, to stay fast. */
const LONG = 2_000;

/** One of the ways to write a text as a JSON string. */
export function spellString(text: string, choices: Choices): string {
  if (text.length > LONG) return JSON.stringify(text);
  let spelled = '"';
  for (const character of text) spelled += spellCharacter(character, choices.below(7));
  return `${spelled}"`;
}

function spellCharacter(character: string, way: number): string {
  const short = SHORT_ESCAPES.get(character);
  if (way < 4 && !MUST_ESCAPE.test(character)) return character;
  if (way < 5 && short !== undefined) return short;
  const units = Array.from({ length: character.length }, (_, index) =>
    character.charCodeAt(index).toString(16).padStart(4, '0'),
  );
  return units.map((unit) => `\\u${way === 5 ? unit.toUpperCase() : unit}`).join('');
}

/** White space as RFC 8259 section 2 allows it between tokens. */
export function spellGap(choices: Choices): string {
  return choices.pick('', '', '', '', '', ' ', '\n', '\t', '\r\n', ' \t\n\r ');
}

/** The number digits x 10^power, exactly. The digits end in a zero only when they are "0". */
export interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly power: number;
}

export function decimalOf(integer: bigint): Decimal {
  const magnitude = String(integer < 0n ? -integer : integer);
  const digits = magnitude.replace(/(?<=\d)0+$/, '');
  return { negative: integer < 0n, digits, power: magnitude.length - digits.length };
}

/** One of the ways to write a number in JSON: every one has exactly its value. */
export function spellNumber(decimal: Decimal, choices: Choices): string {
  const sign = decimal.negative ? '-' : '';
  const { digits, power } = decimal;
  if (digits === '0') return spellZero(choices);
  if (choices.below(3) === 0 && Math.abs(power) <= 400) return sign + spellPlain(decimal);

  const zeros = choices.pick(0, 1, 2, choices.pick(3, 18, 500));
  const point = choices.pick(0, zeros, 1, digits.length + zeros, choices.below(25));
  const all = digits + '0'.repeat(zeros);
  return sign + placePoint(all, point) + spellExponent(power - zeros + point, choices);
}

function spellPlain({ digits, power }: Decimal): string {
  return power >= 0 ? digits + '0'.repeat(power) : placePoint(digits, -power);
}

/** Puts a decimal point in front of the last digits, as many as asked for. */
function placePoint(digits: string, point: number): string {
  if (point === 0) return digits;
  return `${digits.slice(0, -point) || '0'}.${digits.slice(-point).padStart(point, '0')}`;
}

function spellExponent(exponent: number, choices: Choices): string {
  if (exponent === 0 && choices.below(2) === 0) return '';
  const sign = exponent < 0 ? '-' : choices.pick('', '+', exponent === 0 ? '-' : '');
  return `${choices.pick('e', 'E')}${sign}${choices.pick('', '', '0', '000')}${Math.abs(exponent)}`;
}

function spellZero(choices: Choices): string {
  return (
    choices.pick('', '-') +
    choices.pick('0', '0', '0.0', '0.000') +
    choices.pick('', '', 'e0', 'E+5', 'e-7', 'e99999999', 'e-99999999', `e${'9'.repeat(400)}`)
  );
}
