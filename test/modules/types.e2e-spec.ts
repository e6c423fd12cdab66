import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { copyStore } from '../../src/commands/copy-store.js';
import { BatchedRepository } from '../../src/platform/database/batched-repository.js';
import { inRange } from '../../src/platform/database/filters.js';
import { Decimal } from '../../src/platform/json/decimal.js';
import { JsonText } from '../../src/platform/json/json-text.js';
import { addToSchema, openEntityStore } from '../support/store.js';
import { expectError } from '../support/expect-error.js';
import {
  CreateSpecimens1900000000000,
  LOWEST,
  SortedSpecimen,
  type SortedType,
  Specimen,
  SpecimensModule,
  SpecimensRepository,
} from '../support/specimens.module.js';
import { type Answer, TestApp } from '../support/test-app.js';
import { ENGINE, TestStore } from '../support/test-store.js';

addToSchema({ entities: [Specimen], migrations: [CreateSpecimens1900000000000] });

/** The values of a type, as they are written in JSON. */
interface TypeCase {
  /** In their order, with those at both limits. */
  readonly valid: readonly string[];
  /** Other spellings, with those in which they are answered. */
  readonly spellings?: Readonly<Record<string, string>>;
  readonly invalid: readonly string[];
}

const quoted = (...texts: string[]): string[] => texts.map((text) => JSON.stringify(text));

const TYPES: Readonly<Record<string, TypeCase>> = {
  int32: {
    valid: ['-2147483648', '-1', '0', '9', '10', '2147483647'],
    spellings: { '1e3': '1000', '1.0': '1', '-0': '0', '10e-1': '1' },
    invalid: ['2147483648', '-2147483649', '1.5', '"1"', 'true'],
  },
  int64: {
    valid: [
      ...['-9223372036854775808', '-9007199254740993', '-1', '0', '9', '10'],
      ...['9007199254740992', '9007199254740993', '9223372036854775807'],
    ],
    spellings: { '9223372036854775807.0': '9223372036854775807', '1e18': '1000000000000000000' },
    invalid: ['9223372036854775808', '0.5', '"1"'],
  },
  decimal: {
    valid: [
      ...['-99999999999999.9999', '-1.0050', '-0.0001', '0.0000', '0.0001', '1.0049'],
      ...['1.0050', '9.0000', '10.0000', '90071992547409.9300', '99999999999999.9999'],
    ],
    spellings: { '1.005': '1.0050', '1e-4': '0.0001', '-0': '0.0000', '10': '10.0000' },
    invalid: ['1.00001', '100000000000000', '"1.5"'],
  },
  boolean: { valid: ['false', 'true'], invalid: ['0', '"true"'] },
  word: { valid: quoted('Stone', 'clay', 'tin'), invalid: quoted('stone', '') },
  text: {
    valid: quoted('', ' ', 'B', 'Z', 'a', 'b', 'z', '{', 'É', 'é', 'ﬁ', '\u{1f33f}', '\u{10ffff}'),
    invalid: [...quoted('12345', '\0'), String.raw`"\ud800"`, '1'],
  },
  date: {
    valid: quoted(
      '0001-01-01',
      '1582-10-10',
      '1970-01-01',
      '2000-02-29',
      '2026-11-22',
      '9999-12-31',
    ),
    invalid: quoted('0000-01-01', '2026-02-29', '2026-1-1', '10000-01-01', '2026-11-22T00:00:00Z'),
  },
  instant: {
    valid: quoted(
      ...['0001-01-01T00:00:00.000Z', '1883-11-18T17:00:00.000Z', '1969-12-31T23:59:59.999Z'],
      ...['1970-01-01T00:00:00.000Z', '2026-03-08T07:30:00.000Z', '2026-11-01T05:30:00.000Z'],
      ...['2026-11-01T06:30:00.000Z', '2026-11-22T10:00:00.001Z', '9999-12-31T23:59:59.999Z'],
    ),
    spellings: {
      '"2026-11-22T10:00:00Z"': '"2026-11-22T10:00:00.000Z"',
      '"2026-11-22t10:00:00.5z"': '"2026-11-22T10:00:00.500Z"',
      '"2026-11-22T10:00:00+05:30"': '"2026-11-22T04:30:00.000Z"',
      '"2026-01-01T00:00:00.001-23:59"': '"2026-01-01T23:59:00.001Z"',
    },
    invalid: quoted(
      ...['2026-11-22', '2026-11-22T10:00:00', '2026-02-30T10:00:00.000Z', '2016-12-31T23:59:60Z'],
      ...['0000-12-31T23:00:00-01:00', '2026-11-22T10:00:00.0001Z', '9999-12-31T23:59:59-01:00'],
    ),
  },
  uuid: {
    valid: quoted(
      ...['00000000-0000-0000-0000-000000000000', '0190b5c8-7d0a-7c3e-9b2a-5f4e3d2c1b0a'],
      ...['a190b5c8-7d0a-7c3e-9b2a-5f4e3d2c1b0a', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
    ),
    spellings: {
      '"0190B5C8-7D0A-7C3E-9B2A-5F4E3D2C1B0A"': '"0190b5c8-7d0a-7c3e-9b2a-5f4e3d2c1b0a"',
    },
    invalid: quoted('0190b5c87d0a7c3e9b2a5f4e3d2c1b0a', 'g190b5c8-7d0a-7c3e-9b2a-5f4e3d2c1b0a'),
  },
  json: {
    valid: [
      ...['0', '9007199254740993', '1e+400', '0.1', '""', '"\\u0000"', 'true', '[]', '{}'],
      '{"a":[1,{"b":null}],"c":"é"}',
    ],
    // Only white space between the parts goes.
    spellings: { '{ "b" : 1.0,\n"a": " " }': '{"b":1.0,"a":" "}', '[ 1e2 ]': '[1e2]' },
    invalid: ['{"a":1,"a":2}'],
  },
};

/** The types whose values can be sorted and filtered. */
const SORTED = Object.entries(TYPES).filter(([type]) => type !== 'json');

let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start({}, SpecimensModule);
});

beforeEach(async () => {
  await app.query('DELETE FROM specimens');
});

afterAll(async () => {
  await app.close();
});

function create(id: number, type: string, value: string): Promise<Answer> {
  return app.post('/specimens', `{"id":${id},"${type}":${value}}`);
}

/** Stores the values of a type under 1, 2 and so on. */
async function createAll(type: string): Promise<void> {
  const answers = await Promise.all(
    (TYPES[type]?.valid ?? []).map((value, index) => create(index + 1, type, value)),
  );
  expect(answers.map(({ text }) => text)).toEqual(answers.map(() => '{"outcome":"created"}'));
}

/** All ids of a list, read page after page. */
async function listIds(path: string): Promise<number[]> {
  const pages = await app.getPages(path);
  expect(pages.filter(({ status }) => status !== 200)).toEqual([]);
  return pages.flatMap(({ body }) => body as { id: number }[]).map(({ id }) => id);
}

describe.each(Object.entries(TYPES))('a value of the type %s', (type, { valid, ...others }) => {
  const { spellings = {}, invalid } = others;

  it('is read as it was written, alone and in lists', async () => {
    await createAll(type);
    const texts = valid.map((value, index) => `{"id":${index + 1},"${type}":${value}}`);
    for (const [index, text] of texts.entries()) {
      expect((await app.get(`/specimens/${index + 1}`)).text).toBe(text);
    }
    expect((await app.get('/specimens')).text).toBe(`[${texts.join()}]`);
    const lines = await app.get('/specimens', { Accept: 'application/x-ndjson' });
    expect(lines.text).toBe(texts.map((text) => `${text}\n`).join(''));
  });

  it('is answered in one spelling, however it was written', async () => {
    for (const [index, [written, answered]] of Object.entries(spellings).entries()) {
      expect((await create(index, type, written)).text).toBe('{"outcome":"created"}');
      const { text } = await app.get(`/specimens/${index}`);
      expect(text).toBe(`{"id":${index},"${type}":${answered}}`);
      expect((await create(index, type, answered)).text).toBe('{"outcome":"identical"}');
    }
  });

  it('cannot have another value', async () => {
    await create(1, type, valid[0] ?? '');
    for (const value of invalid) {
      const created = await create(2, type, value);
      expectError(created, 'INVALID_BODY', expect.stringContaining(type));
      const patched = await app.patch('/specimens/1', `{"${type}":${value}}`);
      expectError(patched, 'INVALID_BODY', expect.stringContaining(type));
    }
    expect((await app.get('/specimens')).text).toBe(`[{"id":1,"${type}":${valid[0] ?? ''}}]`);
  });

  it('cannot be null', async () => {
    // null is JSON.
    const expected = type === 'json' ? { status: 200 } : { status: 400, body: { error: 40002 } };
    expect(await create(1, type, 'null')).toMatchObject(expected);
  });

  it('is compared exactly', async () => {
    await createAll(type);
    for (const [index, value] of valid.entries()) {
      expect((await create(index + 1, type, value)).text).toBe('{"outcome":"identical"}');
      const other = valid[index + 1] ?? valid[0] ?? '';
      expect((await create(index + 1, type, other)).text).toBe('{"outcome":"different"}');
    }
  });

  it('is changed by a patch, and removed by null', async () => {
    await create(1, type, valid[0] ?? '');
    for (const value of valid.filter((one) => !one.startsWith('{'))) {
      const { text } = await app.patch('/specimens/1', `{"${type}":${value}}`);
      expect(text).toBe(`{"id":1,"${type}":${value}}`);
    }
    expect((await app.patch('/specimens/1', `{"${type}":null}`)).text).toBe('{"id":1}');
    expect((await app.get('/specimens/1')).text).toBe('{"id":1}');
  });
});

describe.each(SORTED)('a list by the type %s', (type, { valid, spellings = {} }) => {
  it('finds each value, however it is written', async () => {
    await createAll(type);
    for (const [index, value] of valid.entries()) {
      const text = encodeURIComponent(String(value.startsWith('"') ? JSON.parse(value) : value));
      expect(await listIds(`/specimens?${type}=${text}&limit=1`)).toEqual([index + 1]);
    }
    for (const [written, answered] of Object.entries(spellings)) {
      const index = valid.indexOf(answered);
      if (!written.startsWith('"') || index === -1) continue;
      const text = encodeURIComponent(JSON.parse(written) as string);
      expect(await listIds(`/specimens?${type}=${text}`)).toEqual([index + 1]);
    }
  });

  it('is in the order of the values, also in a range, page after page in both directions', async () => {
    await createAll(type);
    const { rows } = await app.nest.get(SpecimensRepository).list({ limit: 100 });
    const values = rows.map((row) => row[type as SortedType]);
    const ids = rows.map(({ id }) => id);
    const store = await openEntityStore([SortedSpecimen]);
    const repository = new BatchedRepository(store.dataSource.getRepository(SortedSpecimen), {
      orders: { value: [type as never] },
    });
    await repository.createAll(ids.map((id, at) => ({ ...LOWEST, id, [type]: values[at] })));
    const list = async (condition?: unknown, limit = 1): Promise<string[]> => {
      const pages = async (sort: string): Promise<string[]> => {
        const found: string[] = [];
        let after: string | undefined;
        do {
          const page = await repository.list({ limit, sort, after }, { [type]: condition });
          found.push(...page.rows.map(({ id }) => id));
          after = page.next;
        } while (after !== undefined);
        return found;
      };
      const found = await pages('value');
      expect(await pages('-value')).toEqual(found.toReversed());
      return found;
    };
    for (const limit of [1, 2, 100]) expect(await list(undefined, limit)).toEqual(ids);
    for (const [index, value] of values.entries()) {
      expect(await list(inRange({ from: value }))).toEqual(ids.slice(index));
      expect(await list(inRange({ after: value }))).toEqual(ids.slice(index + 1));
      expect(await list(inRange({ to: value }))).toEqual(ids.slice(0, index + 1));
      expect(await list(inRange({ before: value }))).toEqual(ids.slice(0, index));
    }
    await repository.create({ ...LOWEST, id: '50', [type]: values[0] });
    expect(await list(values[0])).toEqual(['1', '50']);
    await store.close();
  });
});

describe('a value that the program makes', () => {
  type Write = (row: { id: string } & Partial<Specimen>) => Promise<unknown>;
  const writers: Record<string, Write> = {
    'create()': async (row) => await app.nest.get(SpecimensRepository).create(row),
    'insert()': async (row) => await app.nest.get(DataSource).getRepository(Specimen).insert(row),
  };

  it.each(Object.entries(writers))('with fewer digits is stored as it is: %s', async (_, write) => {
    await write({ id: '1', decimal: new Decimal(15n, 1) });
    expect((await app.get('/specimens/1')).text).toBe('{"id":1,"decimal":1.5000}');
  });

  it.each<[string, Partial<Specimen>, string]>([
    [
      'decimal with more digits after the point',
      { decimal: new Decimal(100001n, 5) },
      'RangeError',
    ],
    ['moment in another spelling', { instant: '2026-11-22T10:00:00Z' }, 'RangeError'],
    ['date that is none', { date: '2026-02-30' }, 'RangeError'],
    ['UUID in capitals', { uuid: '0190B5C8-7D0A-7C3E-9B2A-5F4E3D2C1B0A' }, 'RangeError'],
    ['text that is not JSON', { json: new JsonText('{"a":}') }, 'SyntaxError'],
  ])('is refused, and nothing is stored: a %s', async (_, row, name) => {
    for (const write of Object.values(writers)) {
      await expect(write({ id: '1', ...row })).rejects.toMatchObject({ name });
    }
    expect(await app.get('/specimens')).toMatchObject({ status: 200, body: [] });
  });
});

it('values of all types are copied to the other engine and back as they are', async () => {
  for (const [index, [type, { valid }]] of Object.entries(TYPES).entries()) {
    for (const [number, value] of valid.entries()) await create(100 * index + number, type, value);
  }
  const before = await app.get('/specimens?limit=1000');
  const other = ENGINE === 'sqlite' && process.env.TEST_POSTGRES_URL === undefined;
  const between = await TestStore.create(other ? 'sqlite' : 'postgres');
  const after = await TestStore.create('sqlite');
  try {
    await copyStore(app.storeUrl, between.url, () => undefined);
    await copyStore(between.url, after.url, () => undefined);
    const { DATABASE_URL } = process.env;
    const copied = await TestApp.start({ DATABASE_URL: after.url }, SpecimensModule);
    expect((await copied.get('/specimens?limit=1000')).text).toBe(before.text);
    await copied.close();
    Object.assign(process.env, { DATABASE_URL });
  } finally {
    await between.remove();
    await after.remove();
  }
});
