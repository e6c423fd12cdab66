/** A JSON number with its exact value, in its canonical spelling. */
export class ExactNumber {
  constructor(readonly text: string) {}
}

/** A JSON value whose numbers are exact. */
export type ExactJson =
  null | boolean | string | ExactNumber | readonly ExactJson[] | ReadonlyMap<string, ExactJson>;

/** The text has an object in which a member is given twice. */
export class DuplicateMemberError extends Error {}

const TOKEN =
  /[ \t\r\n]*(?:([{}[\]:,])|("(?:[^"\\]|\\.)*")|(true|false|null)|(-?[0-9][0-9.eE+-]*))/y;

/** Longer integers are written with an exponent, as in JavaScript. */
const PLAIN_DIGITS = 21;
/** Fractions with more zeros after the point are written with an exponent, as in JavaScript. */
const PLAIN_ZEROS = 6;

/**
 * Reads JSON text without rounding a number.
 *
 * @param text valid JSON (RFC 8259), nested no deeper than the stack allows
 * @throws DuplicateMemberError
 */
export function parseExact(text: string): ExactJson {
  TOKEN.lastIndex = 0;
  const next = (): RegExpExecArray => {
    const token = TOKEN.exec(text);
    if (token === null) throw new SyntaxError('The text is not JSON');
    return token;
  };
  const readValue = ([, mark, string, literal, number]: RegExpExecArray): ExactJson => {
    if (string !== undefined) return JSON.parse(string) as string;
    if (literal !== undefined) return JSON.parse(literal) as boolean | null;
    if (number !== undefined) return new ExactNumber(normalizeNumber(number));
    return mark === '{' ? readObject() : readArray();
  };
  const readObject = (): ExactJson => {
    const members = new Map<string, ExactJson>();
    for (let token = next(); token[1] !== '}'; token = next()) {
      if (token[1] === ',') continue;
      const name = JSON.parse(token[2] ?? '""') as string;
      if (members.has(name)) throw new DuplicateMemberError(name);
      next();
      members.set(name, readValue(next()));
    }
    return members;
  };
  const readArray = (): ExactJson => {
    const elements: ExactJson[] = [];
    for (let token = next(); token[1] !== ']'; token = next()) {
      if (token[1] !== ',') elements.push(readValue(token));
    }
    return elements;
  };
  return readValue(next());
}

/** Writes a value in its canonical form: members sorted as in RFC 8785, and no white space. */
export function stringifyExact(value: ExactJson): string {
  if (value instanceof ExactNumber) return value.text;
  if (value instanceof Map) {
    const names = [...(value as ReadonlyMap<string, ExactJson>).keys()].sort();
    const members = names.map(
      (name) => `${JSON.stringify(name)}:${stringifyExact(value.get(name) as ExactJson)}`,
    );
    return `{${members.join()}}`;
  }
  if (Array.isArray(value)) {
    return `[${(value as readonly ExactJson[]).map((element) => stringifyExact(element)).join()}]`;
  }
  return JSON.stringify(value);
}

/** Writes a JSON number in its canonical spelling: that of JavaScript, but without rounding. */
function normalizeNumber(source: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const all = (whole + fraction).replace(/^0+/, '');
  let end = all.length;
  // A regular expression would try every zero as the first of the last ones.
  while (all[end - 1] === '0') end--;
  const digits = all.slice(0, end);
  if (digits === '') return '0';
  // The value is 0.digits x 10^point.
  const point = BigInt(exponent) - BigInt(fraction.length) + BigInt(all.length);
  const count = BigInt(digits.length);
  if (point > BigInt(PLAIN_DIGITS) || point <= BigInt(-PLAIN_ZEROS)) {
    const [first = '', rest] = [digits[0], digits.slice(1)];
    const power = point - 1n;
    return `${sign}${first}${rest === '' ? '' : `.${rest}`}e${power < 0n ? '' : '+'}${power}`;
  }
  if (point >= count) return sign + digits + '0'.repeat(Number(point - count));
  if (point > 0n) return `${sign}${digits.slice(0, Number(point))}.${digits.slice(Number(point))}`;
  return `${sign}0.${'0'.repeat(Number(-point))}${digits}`;
}
