// How a JSON value is written. An integer is a bigint, since a JavaScript number cannot hold every one.

/** The number digits x 10^power, exactly. The digits end in a zero only when they are "0". */
export class Decimal {
  constructor(
    readonly isNegative: boolean,
    readonly digits: string,
    readonly power: number,
  ) {}

  /** @param value may be a number as JSON writes it */
  static of(value: bigint | number | string): Decimal {
    const [, sign = '', whole = '', fraction = '', exponent = '0'] =
      /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(String(value)) ?? [];
    const all = (whole + fraction).replace(/^0+(?=\d)/, '');
    const digits = all.replace(/(?<=\d)0+$/, '');
    const power = Number(exponent) - fraction.length + all.length - digits.length;
    return new Decimal(sign === '-', digits, digits === '0' ? 0 : power);
  }

  /** Divides this number by a step; undefined if it is no multiple of the step. */
  dividedBy(step: Decimal): bigint | undefined {
    const power = Math.min(this.power, step.power);
    const [value, unit] = [this, step].map(
      (one) => BigInt(one.digits) * 10n ** BigInt(one.power - power),
    );
    if (value === undefined || unit === undefined || value % unit !== 0n) return undefined;
    return this.isNegative ? -value / unit : value / unit;
  }

  /** Multiplies this number. */
  times(count: bigint): Decimal {
    const { isNegative, digits, power } = Decimal.of(BigInt(this.digits) * count);
    return new Decimal(
      isNegative !== this.isNegative && digits !== '0',
      digits,
      power + this.power,
    );
  }

  /** Without an exponent. */
  toString(): string {
    return (this.isNegative ? '-' : '') + spellPlain(this.digits, this.power);
  }
}

/** A text in place of a value, whether it is JSON or not. */
export class RawText {
  constructor(readonly text: string) {}
}

/** The choices of a writer. Without any of them it writes the plain way. */
export class Style {
  private index = 0;

  constructor(private readonly choices: readonly number[] = []) {}

  below(count: number): number {
    if (this.choices.length === 0) return 0;
    return (this.choices[this.index++ % this.choices.length] ?? 0) % count;
  }

  pick<T>(...choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0];
  }
}

/** A value as JSON; a bigint has all its digits. */
export function jsonText(value: unknown, style = new Style()): string {
  const gap = (text: string): string => spellGap(style) + text + spellGap(style);
  if (value instanceof RawText) return value.text;
  if (value instanceof Decimal) return spellNumber(value, style);
  if (typeof value === 'bigint') return spellNumber(Decimal.of(value), style);
  if (typeof value === 'number') return spellNumber(Decimal.of(value), style);
  if (typeof value === 'string') return spellString(value, style);
  if (Array.isArray(value)) {
    return `[${value.map((item) => gap(jsonText(item, style))).join()}]`;
  }
  if (typeof value !== 'object' || value === null) return String(value);
  return membersText(Object.entries(value), style);
}

/** An object with these members, of which several may have one name. */
export function membersText(
  members: readonly (readonly [name: string, value: unknown])[],
  style: Style,
): string {
  const gap = (text: string): string => spellGap(style) + text + spellGap(style);
  const texts = members.map(
    ([name, value]) => gap(spellString(name, style)) + ':' + gap(jsonText(value, style)),
  );
  return `{${texts.join() || spellGap(style)}}`;
}

const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** The numbers of a JSON text, as they are written. */
export function numbersIn(text: string): string[] {
  return (text.match(STRING_OR_NUMBER) ?? []).filter((token) => !token.startsWith('"'));
}

/**
 * Reads a JSON text as a value with integers as text, which compare with all their digits, in any
 * spelling.
 */
export function readExactly(text: string): unknown {
  const exact = text.replaceAll(STRING_OR_NUMBER, (token) => {
    if (token.startsWith('"')) return token;
    const { isNegative, digits, power } = Decimal.of(token);
    if (digits === '0') return '"0n"';
    if (power < 0 || power > LONG) return token;
    return `"${isNegative ? '-' : ''}${digits}${'0'.repeat(power)}n"`;
  });
  return JSON.parse(exact) as unknown;
}

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
/** Characters that RFC 8259 section 7 requires to escape, and those that UTF-8 cannot encode. */
const MUST_ESCAPE = /["\\\p{Cs}]|[^ -\u{10ffff}]/u;
/** Above this length a text is spelled in the plain way, to stay fast. */
const LONG = 2_000;

/** One of the ways to write a text as a JSON string. */
export function spellString(text: string, style: Style): string {
  if (text.length > LONG) return JSON.stringify(text);
  let spelled = '"';
  for (const character of text) spelled += spellCharacter(character, style.below(7));
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
function spellGap(style: Style): string {
  return style.pick('', '', '', '', '', ' ', '\n', '\t', '\r\n', ' \t\n\r ');
}

/** One of the ways to write a number in JSON: every one has exactly its value. */
export function spellNumber({ isNegative, digits, power }: Decimal, style: Style): string {
  const sign = isNegative ? '-' : '';
  if (digits === '0') return spellZero(style);
  if (style.below(3) === 0 && Math.abs(power) <= 400) return sign + spellPlain(digits, power);

  const zeros = style.pick(0, 1, 2, style.pick(3, 18, 500));
  const point = style.pick(0, zeros, 1, digits.length + zeros, style.below(25));
  const all = digits + '0'.repeat(zeros);
  return sign + placePoint(all, point) + spellExponent(power - zeros + point, style);
}

function spellPlain(digits: string, power: number): string {
  return power >= 0 ? digits + '0'.repeat(power) : placePoint(digits, -power);
}

/** Puts a decimal point in front of the last `point` digits. */
function placePoint(digits: string, point: number): string {
  if (point === 0) return digits;
  return `${digits.slice(0, -point) || '0'}.${digits.slice(-point).padStart(point, '0')}`;
}

function spellExponent(exponent: number, style: Style): string {
  if (exponent === 0 && style.below(2) === 0) return '';
  const sign = exponent < 0 ? '-' : style.pick('', '+', exponent === 0 ? '-' : '');
  return `${style.pick('e', 'E')}${sign}${style.pick('', '', '0', '000')}${Math.abs(exponent)}`;
}

function spellZero(style: Style): string {
  return (
    style.pick('', '-') +
    style.pick('0', '0', '0.0', '0.000') +
    style.pick('', '', 'e0', 'E+5', 'e-7', 'e99999999', 'e-99999999', `e${'9'.repeat(400)}`)
  );
}
