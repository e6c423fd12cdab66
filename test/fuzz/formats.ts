import fc from 'fast-check';

/** A format of JSON Schema: its check, and some frequent values. */
export type Format =
  | { readonly type: 'number'; readonly validate: (value: number) => boolean }
  | {
      readonly type: 'string';
      readonly validate: (value: string) => boolean;
      readonly values: fc.Arbitrary<string>;
      /** Texts that look as if they had it. */
      readonly near: readonly string[];
    };

/** Texts that stand for a moment, of which each has many: they are compared as the one in UTC. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;

/** Normalizes a text for comparison: moments become UTC. */
export function normalizeText(text: string): string {
  return MOMENT.test(text) && isDate(text.slice(0, 10)) ? new Date(text).toISOString() : text;
}

const UUIDS = [1, 2, 3].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`);
const TIMES = fc
  .date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  })
  .map((date) => date.toISOString());
/** A moment as it is at places where it is later or earlier than in UTC. */
const OFFSETS = fc.constantFrom('+02:00', '-11:30', '+00:00');
const LOCAL_TIMES = fc
  .tuple(TIMES, OFFSETS)
  // Where UTC has another year, it may be one that cannot be stored.
  .filter(([time]) => !/^0001-01-01|^9999-12-31/.test(time))
  .map(([time, offset]) => time.slice(0, -5) + offset);

export const FORMATS: Readonly<Record<string, Format>> = {
  int32: { type: 'number', validate: (value) => isInteger(value, 31) },
  int64: { type: 'number', validate: (value) => isInteger(value, 63) },
  // Its digits are a matter of multipleOf.
  decimal: { type: 'number', validate: () => true },
  uuid: {
    type: 'string',
    validate: isUuid,
    values: fc.oneof(fc.constantFrom(...UUIDS), fc.uuid()),
    near: ['', 'a', `${UUIDS[0] ?? ''}0`],
  },
  date: {
    type: 'string',
    validate: (text) => isDate(text),
    values: TIMES.map((text) => text.slice(0, 10)),
    near: [
      '',
      'a',
      '2026-13-01',
      '2026-02-29',
      '0000-01-01',
      '10000-01-01',
      '2026-1-1',
      '2026-W01-1',
    ],
  },
  'date-time': {
    type: 'string',
    validate: (text) =>
      isDate(text.slice(0, 10)) &&
      /^T([01]\d|2[0-3])(:[0-5]\d){2}(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.test(text.slice(10)) &&
      // No pattern can say that the year is one that can be stored in UTC as well.
      /^\d/.test(normalizeText(text)) &&
      !normalizeText(text).startsWith('0000'),
    values: fc.oneof({ weight: 3, arbitrary: TIMES }, { weight: 1, arbitrary: LOCAL_TIMES }),
    near: [
      ...['', 'a', '2026-01-01', '2026-01-01T00:00:00', '2026-01-01 00:00:00Z'],
      ...[
        '2026-13-01T00:00:00Z',
        '2026-02-30T10:00:00.000Z',
        '2026-01-01T25:00:00Z',
        '2026-12-31T23:59:60Z',
      ],
      ...['0000-12-31T00:00:00Z', '0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00'],
    ],
  },
  email: {
    type: 'string',
    validate: (text) => /^[^@\s]+@[^@\s]+$/.test(text),
    values: fc.constantFrom('a@example.org', 'first.last@mail.example.org'),
    near: ['', 'a', '@', 'a@'],
  },
  uri: {
    type: 'string',
    validate: (text) => URL.canParse(text),
    values: fc.constantFrom('https://example.org/', 'https://example.org/a?b=c#d'),
    near: ['', 'a', '//'],
  },
};

/** The greatest of 63 bits is read as the double next to it. */
function isInteger(value: number, bits: number): boolean {
  return (
    Number.isInteger(value) && value >= -(2 ** bits) && value <= Number(2n ** BigInt(bits) - 1n)
  );
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

export function isUuid(text: string): boolean {
  return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);
}
