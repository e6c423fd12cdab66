import { describe, expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { Plant } from '../fixtures/plant.entity.js';
import { StoreUnavailableError } from 'durable-rest';
import { SQLSTATES } from '../cases/sqlstates.js';
import { listStoredIds, plant, usePlantStore } from '../support/store.js';

const store = usePlantStore();

async function execute(...statements: string[]): Promise<void> {
  for (const sql of statements) await store.dataSource.query(sql);
}

/** Creates a trigger that executes statements of PL/pgSQL for a row. */
async function createTrigger(body: string, when = 'BEFORE INSERT'): Promise<void> {
  await execute(
    `CREATE FUNCTION check_row() RETURNS trigger LANGUAGE plpgsql
     AS $$ DECLARE number integer; BEGIN ${body} END $$`,
    `CREATE TRIGGER check_row ${when} ON plants FOR EACH ROW EXECUTE FUNCTION check_row()`,
  );
}

/** Lists what concurrent writes of a row with each name end with: 'stored', or the kind of error. */
async function settle(
  names: readonly string[],
  write: (row: Plant) => Promise<unknown> = (row) => store.rows.create(row),
): Promise<string[]> {
  const writes = names.map((name, index) => write(plant(index + 1, name)));
  const outcomes = await Promise.allSettled(writes);
  return outcomes.map((outcome) => {
    if (outcome.status === 'fulfilled') return 'stored';
    return outcome.reason instanceof StoreUnavailableError ? 'unavailable' : 'refused';
  });
}

const COUNT = 40;
const BAD = 20;
/** Names of which one is bad. */
const NAMES = Array.from({ length: COUNT }, (_, index) => (index === BAD ? 'bad' : 'good'));
const REFUSED_ALONE = NAMES.map((name) => (name === 'bad' ? 'refused' : 'stored'));

/** How many rows of a test with all codes share a batch. */
const CODES_AT_ONCE = 128;

it('a row is refused alone, whatever code a trigger raises', async () => {
  await createTrigger(`IF NEW.name <> 'good' THEN
    RAISE EXCEPTION 'refused' USING ERRCODE = NEW.name; END IF; RETURN NEW;`);
  const codes = [...SQLSTATES.row, ...SQLSTATES.lock, ...SQLSTATES.store, 'MY001'];
  for (let start = 0; start < codes.length; start += CODES_AT_ONCE) {
    const names = codes.slice(start, start + CODES_AT_ONCE).flatMap((code) => ['good', code]);
    const outcomes = await settle(names);
    const wanted = names.map((name) => `${name} ${name === 'good' ? 'stored' : 'refused'}`);
    expect(names.map((name, index) => `${name} ${outcomes[index]}`)).toEqual(wanted);
    expect(await listStoredIds(store)).toHaveLength(names.length / 2);
    await execute('DELETE FROM plants');
  }
});

describe('a row is refused alone, and its neighbours are stored, if for it a trigger', () => {
  it.each([
    ['ends without RETURN', `IF NEW.name = 'good' THEN RETURN NEW; END IF;`],
    ['has no WHEN of a CASE', `CASE NEW.name WHEN 'good' THEN number := 1; END CASE; RETURN NEW;`],
    ['calls a function of a missing schema', 'PERFORM missing.f();'],
    ['calls a missing function', 'PERFORM missing();'],
    ['reads a missing column', 'number := NEW.missing;'],
    ['fetches from a closed cursor', `EXECUTE 'FETCH missing';`],
    ['executes a missing prepared statement', `EXECUTE 'EXECUTE missing';`],
    ['commits', 'COMMIT;'],
    ['divides by zero', 'number := 1 / 0;'],
    ['asserts', 'ASSERT false;'],
    ['converts a text', 'number := NEW.name::integer;'],
    ['writes a text that is too long', `number := length(repeat('x', 2000000000));`],
    [
      'makes its transaction read-only',
      'SET LOCAL transaction_read_only = on; DELETE FROM plants;',
    ],
    ['names a missing database', `PERFORM has_database_privilege('missing', 'CONNECT');`],
    ['calls itself without end', 'INSERT INTO plants (id, name) VALUES (NEW.id + 1, NEW.name);'],
    [
      'calls a DO block',
      `EXECUTE 'DO $do$ BEGIN RAISE EXCEPTION USING ERRCODE = ''58030''; END $do$';`,
    ],
    [
      'reads a record that has other types than before',
      `NULL; END IF; DECLARE one record; BEGIN
       EXECUTE CASE NEW.name WHEN 'bad' THEN 'SELECT ''a''::text AS it' ELSE 'SELECT 1 AS it' END INTO one;
       PERFORM one.it; END; IF false THEN NULL;`,
    ],
  ])('%s', async (_, body) => {
    const isWhole = /NEW\.name = 'good'|^CASE/.test(body);
    await createTrigger(isWhole ? body : `IF NEW.name = 'bad' THEN ${body} END IF; RETURN NEW;`);
    expect(await settle(NAMES)).toEqual(REFUSED_ALONE);
    expect(await listStoredIds(store)).toHaveLength(COUNT - 1);
  });
});

const RAISE = `CREATE FUNCTION is_good(name text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
  IF name = 'bad' THEN RAISE EXCEPTION 'bad' USING ERRCODE = '57P01'; END IF; RETURN true; END $$`;

describe('a row is refused alone if it breaks', () => {
  it.each<[string, string[]]>([
    ['a CHECK that calls a function', [RAISE, 'ALTER TABLE plants ADD CHECK (is_good(name))']],
    [
      'a CHECK that calls a function of SQL',
      [
        `CREATE FUNCTION is_good(name text) RETURNS boolean LANGUAGE sql
         AS $$ SELECT 1 / (length(name) - 3) > 0 $$`,
        'ALTER TABLE plants ADD CHECK (is_good(name))',
      ],
    ],
    [
      'a CHECK that names a table',
      [`ALTER TABLE plants ADD CHECK (name = 'good' OR name::regclass IS NOT NULL)`],
    ],
    [
      'the syntax of a computed column',
      [
        `ALTER TABLE plants ADD query tsquery GENERATED ALWAYS AS
        (CASE name WHEN 'bad' THEN 'a b' ELSE name END::tsquery) STORED`,
      ],
    ],
    [
      'a computed column that calls a function',
      [RAISE, 'ALTER TABLE plants ADD good boolean GENERATED ALWAYS AS (is_good(name)) STORED'],
    ],
    [
      'a domain',
      [
        RAISE,
        'CREATE DOMAIN good_name AS text CHECK (is_good(value))',
        'ALTER TABLE plants ALTER name TYPE good_name',
      ],
    ],
    ['an index of an expression', [RAISE, 'CREATE INDEX good_plants ON plants (is_good(name))']],
  ])('%s', async (_, statements) => {
    await execute(...statements);
    expect(await settle(NAMES)).toEqual(REFUSED_ALONE);
  });
});

it.each<[string, string, (row: Plant) => Promise<unknown>]>([
  ['UPDATE', `UPDATE plants SET tag = 'x' WHERE id = NEW.id;`, (row) => store.rows.replace(row)],
  [
    'UPDATE',
    'DELETE FROM plants WHERE id = NEW.id;',
    (row) => store.rows.change(row.id, () => row),
  ],
])('a row is refused alone if a trigger before its %s executes %s', async (event, sql, write) => {
  await store.rows.createAll(NAMES.map((__, index) => plant(index + 1)));
  await createTrigger(`IF NEW.name = 'bad' THEN ${sql} END IF; RETURN NEW;`, `BEFORE ${event}`);
  expect(await settle(NAMES, write)).toEqual(REFUSED_ALONE);
});

it('a removal is refused alone if the trigger of a foreign key raises', async () => {
  await execute(
    'CREATE TABLE leaves (plant bigint REFERENCES plants (id) ON DELETE CASCADE)',
    `CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql
     AS $$ BEGIN RAISE EXCEPTION 'kept' USING ERRCODE = '53100'; END $$`,
    'CREATE TRIGGER keep BEFORE DELETE ON leaves FOR EACH ROW EXECUTE FUNCTION keep()',
  );
  await store.rows.createAll(NAMES.map((name, index) => plant(index + 1, name)));
  await execute(`INSERT INTO leaves VALUES (${BAD + 1})`);
  expect(await settle(NAMES, ({ id }) => store.rows.remove(id))).toEqual(REFUSED_ALONE);
});

describe('if the server fails while it executes a trigger, no row is tried twice:', () => {
  it.each([
    ['a statement is cancelled', 'pg_cancel_backend'],
    ['a connection is ended', 'pg_terminate_backend'],
  ])('%s', async (_, end) => {
    // A sequence also counts what is rolled back.
    await execute('CREATE SEQUENCE tries');
    await createTrigger(`IF NEW.name = 'bad' THEN
      number := nextval('tries'); PERFORM ${end}(pg_backend_pid()), pg_sleep(60); END IF; RETURN NEW;`);
    expect(await settle(NAMES)).toEqual(NAMES.map(() => 'unavailable'));
    const [{ tries }] = await store.dataSource.query<[{ tries: string }]>(
      'SELECT last_value AS tries FROM tries',
    );
    expect(tries).toBe('1');
    expect(await listStoredIds(store)).toEqual([]);
  });
});

describe('statements of a module', () => {
  it.each(['08006', '26000', '3D000', '53100', '57014', 'XX000'])(
    'are refused with the error of a DO block that raises %s, and the transaction goes on',
    async (code) => {
      const raised = store.dataSource.transaction(async (manager) => {
        await manager.insert(Plant, plant(1));
        const block = manager.transaction((nested) =>
          nested.query(`DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '${code}'; END $$`),
        );
        await expect(block).rejects.toBeInstanceOf(QueryFailedError);
        await expect(block).rejects.not.toBeInstanceOf(StoreUnavailableError);
      });
      await raised;
      expect(await listStoredIds(store)).toEqual([1]);
    },
  );
});
