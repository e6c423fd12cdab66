import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Column, type DataSource, Entity, PrimaryColumn } from 'typeorm';
import { text as join } from 'node:stream/consumers';
import { copyStore } from '../../packages/store/src/commands/copy-store.js';
import { schema } from '../fixtures/schema.js';
import {
  BatchedRepository,
  boolean,
  CreateTable,
  date,
  decimal,
  Decimal,
  inRange,
  instant,
  int32,
  int64,
  json,
  JsonText,
  oneOf,
  text,
  uuid,
} from 'durable-rest';
import type { ColumnType } from '../../packages/store/src/entities/columns.js';
import { readJson } from '../../packages/store/src/json/json.js';
import { CompiledDto } from '../../packages/platform/src/validation/compiled-dto.js';
import { type TypeName, TYPES, ValuesDto } from '../cases/types.js';
import { addToSchema, openStore } from '../support/store.js';
import { ENGINE, TestStore } from 'durable-rest/testing';

const COLUMNS: Readonly<Record<TypeName, ColumnType>> = {
  int32: int32(),
  int64: int64(),
  decimal: decimal(18, 4),
  boolean: boolean(),
  word: oneOf(),
  text: text(),
  date: date(),
  instant: instant(),
  uuid: uuid(),
  json: json(),
};
const NAMES = Object.keys(COLUMNS) as TypeName[];
const SORTED = NAMES.filter((type) => type !== 'json');

@Entity('specimens')
class Specimen {
  @PrimaryColumn(int64())
  id!: string;
}
for (const type of NAMES) Column(COLUMNS[type])(Specimen.prototype, type);

type Row = Specimen & Record<TypeName, unknown>;

class CreateSpecimens1900000000000 extends CreateTable({
  name: 'specimens',
  columns: { id: int64(), ...COLUMNS },
  key: ['id'],
}) {}

addToSchema({ entities: [Specimen], migrations: [CreateSpecimens1900000000000] });

let store: TestStore;
let dataSource: DataSource;
let specimens: BatchedRepository<Row>;

function openRepository(source: DataSource): BatchedRepository<Row> {
  const orders = Object.fromEntries(SORTED.map((type) => [type, [type]]));
  return new BatchedRepository(source.getRepository<Row>(Specimen), { orders });
}

beforeAll(async () => {
  store = await TestStore.create();
  dataSource = await openStore(store.url);
  specimens = openRepository(dataSource);
});

beforeEach(() => dataSource.query('DELETE FROM specimens'));

afterAll(async () => {
  await dataSource.destroy();
  await store.remove();
});

/** The JSON of a row with this value; its other members have the least of their values. */
function writeRow(id: number, type: string, value: string): string {
  const members = NAMES.map((name) => `"${name}":${name === type ? value : TYPES[name].valid[0]}`);
  return `{"id":${id},${members.join()}}`;
}

const dto = CompiledDto.compile(ValuesDto);

/** The row that a request with such JSON asks for. */
function readRow(id: number, type: string, value: string): Row {
  const values = readJson(writeRow(id, type, value), dto) as Row;
  return { ...values, id: String(id) };
}

/** Stores the values of a type under 1, 2 and so on. */
async function createAll(type: TypeName): Promise<void> {
  const rows = TYPES[type].valid.map((value, index) => readRow(index + 1, type, value));
  const outcomes = await Promise.all(rows.map((row) => specimens.create(row)));
  expect(new Set(outcomes)).toEqual(new Set(['created']));
}

async function createAllOfAllTypes(): Promise<void> {
  const rows = NAMES.flatMap((type, place) =>
    TYPES[type].valid.map((value, index) => readRow(100 * place + index, type, value)),
  );
  await specimens.createAll(rows);
}

async function readPage(format: 'array' | 'lines', repository = specimens): Promise<string> {
  const page = await repository.page({ limit: 1_000, format });
  return page.json instanceof JsonText ? page.json.text : await join(page.json);
}

interface Ids {
  readonly rows: readonly { readonly id: number | string }[];
  readonly next: string | undefined;
}

/** All ids of a list, read page after page. */
async function followPages(read: (after: string | undefined) => Promise<Ids>): Promise<number[]> {
  const found: number[] = [];
  let after: string | undefined;
  do {
    const page = await read(after);
    found.push(...page.rows.map(({ id }) => Number(id)));
    after = page.next;
  } while (after !== undefined);
  return found;
}

function listIds(sort: string, where: object = {}, limit = 1): Promise<number[]> {
  return followPages((after) => specimens.list({ limit, sort, after }, where));
}

function listIdsAsJson(sort: string, limit: number): Promise<number[]> {
  return followPages(async (after) => {
    const { json, next } = await specimens.page({ limit, sort, after });
    return { rows: JSON.parse((json as JsonText).text) as Ids['rows'], next };
  });
}

describe.each(NAMES)('a value of the type %s', (type) => {
  const { valid } = TYPES[type];

  it.each(['array', 'lines'] as const)(
    'is given to the function of a mapped page as find() gives it: %s',
    async (format) => {
      await createAll(type);
      const rows: Row[] = [];
      const { json } = await specimens.mapPage({ limit: 1_000, format }, (row) => {
        rows.push(row);
        return { id: row.id };
      });
      const answers = valid.map((_, index) => `{"id":"${index + 1}"}`);
      const isArray = json instanceof JsonText;
      expect(isArray ? json.text : await join(json)).toBe(
        isArray ? `[${answers.join()}]` : `${answers.join('\n')}\n`,
      );
      const found = valid.map((_, index) => specimens.find(index + 1));
      expect(rows).toEqual(await Promise.all(found));
    },
  );

  it('is read as it was written, alone and in lists', async () => {
    await createAll(type);
    const texts = valid.map((value, index) => writeRow(index + 1, type, value));
    expect(await readPage('array')).toBe(`[${texts.join()}]`);
    expect(await readPage('lines')).toBe(texts.map((text) => `${text}\n`).join(''));
    for (const [index, value] of valid.entries()) {
      const row = readRow(index + 1, type, value);
      const stored = await specimens.find(row.id);
      expect(stored).toEqual({ ...row, int64: String(row.int64) });
      expect(await dataSource.getRepository(Specimen).findOneBy({ id: row.id })).toEqual(stored);
    }
  });

  it('is compared and changed exactly', async () => {
    await createAll(type);
    for (const [index, value] of valid.entries()) {
      const other = readRow(index + 1, type, valid[index + 1] ?? valid[0] ?? '');
      const outcomes = [
        await specimens.create(readRow(index + 1, type, value)),
        await specimens.create(other),
        await specimens.replace(other),
        await specimens.create(other),
      ];
      const wanted = ['identical', 'different', true, 'identical'];
      expect([value, ...outcomes]).toEqual([value, ...wanted]);
    }
  });
});

it.each(SORTED)('a list by the type %s has its order, pages, filters and ranges', async (type) => {
  await createAll(type);
  const ids = TYPES[type].valid.map((_, index) => index + 1);
  for (const limit of [1, 2, 100]) {
    const lists = {
      up: await listIds(type, {}, limit),
      down: await listIds(`-${type}`, {}, limit),
    };
    expect({ limit, ...lists }).toEqual({ limit, up: ids, down: ids.toReversed() });
  }
  for (const [index, value] of TYPES[type].valid.entries()) {
    const { [type]: stored } = readRow(1, type, value);
    for (const [condition, expected] of [
      [stored, [index + 1]],
      [inRange({ from: stored }), ids.slice(index)],
      [inRange({ after: stored }), ids.slice(index + 1)],
      [inRange({ to: stored }), ids.slice(0, index + 1)],
      [inRange({ before: stored }), ids.slice(0, index)],
    ] as const) {
      const where = { [type]: condition };
      const lists = { up: await listIds(type, where), down: await listIds(`-${type}`, where) };
      expect({ value, condition, ...lists }).toEqual({
        value,
        condition,
        up: expected,
        down: expected.toReversed(),
      });
    }
  }
});

it('pages of JSON that are read at the same time each belong to their list', async () => {
  await createAllOfAllTypes();
  const lists = SORTED.flatMap((type) => [type, `-${type}`]).flatMap((sort) =>
    [1, 7, 100].map((limit) => ({ sort, limit })),
  );
  const read = lists.map(async (list) => ({
    ...list,
    ids: await listIdsAsJson(list.sort, list.limit),
  }));
  for (const { sort, limit, ids } of await Promise.all(read)) {
    expect({ sort, limit, ids }).toEqual({ sort, limit, ids: await listIds(sort, {}, 100) });
  }
});

describe('a value that the program makes', () => {
  const writers: Record<string, (row: Row) => Promise<unknown>> = {
    'create()': (row) => specimens.create(row),
    'insert()': (row) => dataSource.getRepository(Specimen).insert(row),
  };
  const make = (members: object): Row => ({ ...readRow(1, 'int64', '0'), int64: '0', ...members });

  it.each(Object.entries(writers))('with fewer digits is stored as it is: %s', async (_, write) => {
    await write(make({ decimal: new Decimal(15n, 1) }));
    expect(await readPage('array')).toContain('"decimal":1.5000');
  });

  it.each<[string, Partial<Row>, string]>([
    ['decimal with more digits', { decimal: new Decimal(100001n, 5) }, 'RangeError'],
    ['moment in another spelling', { instant: '2026-11-22T10:00:00Z' }, 'RangeError'],
    ['date that is none', { date: '2026-02-30' }, 'RangeError'],
    ['UUID in capitals', { uuid: '0190B5C8-7D0A-7C3E-9B2A-5F4E3D2C1B0A' }, 'RangeError'],
    ['text that is not JSON', { json: new JsonText('{"a":}') }, 'SyntaxError'],
  ])('is refused, and nothing is stored: a %s', async (_, members, name) => {
    for (const [writer, write] of Object.entries(writers)) {
      const failure = await write(make(members)).catch((error: unknown) => error);
      expect([writer, (failure as Error).name]).toEqual([writer, name]);
    }
    expect(await readPage('array')).toBe('[]');
  });
});

it('values of all types are copied to the other engine and back as they are', async () => {
  await createAllOfAllTypes();
  const stored = await readPage('array');
  await dataSource.destroy();
  const hasPostgres = process.env.TEST_POSTGRES_URL !== undefined;
  const between = await TestStore.create(hasPostgres ? 'postgres' : ENGINE);
  const last = await TestStore.create('sqlite');
  await copyStore(schema, store.url, between.url);
  await copyStore(schema, between.url, last.url);
  const copied = await openStore(last.url);
  expect(await readPage('array', openRepository(copied))).toBe(stored);
  await copied.destroy();
  for (const copy of [between, last]) await copy.remove();
});
