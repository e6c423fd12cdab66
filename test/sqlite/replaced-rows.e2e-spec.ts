import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Column, Entity, type MigrationInterface, PrimaryColumn, type QueryRunner } from 'typeorm';
import { BatchedRepository, int32, nullable, RecordChanges, text } from 'durable-rest';
import { createDataSourceOptions, platformSchema } from 'durable-rest/program';
import { openDatabase } from '../../packages/store/src/open/open-database.js';
import type { StoreDataSource } from '../../packages/store/src/engine/store-data-source.js';
import { TestStore } from 'durable-rest/testing';
import { querySqlite } from '../support/store.js';

@RecordChanges('lamp')
@Entity('lamps')
class Lamp {
  @PrimaryColumn(text())
  id!: string;

  @Column(int32())
  watts!: number;

  @Column({ ...nullable(text()), unique: true })
  place!: string | null;

  @Column(nullable(text()))
  updated!: string | null;
}

/** How the table treats a place that is taken, such as `ON CONFLICT REPLACE`. */
let onConflict = '';

class CreateLamps1790000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE TABLE lamps (id text NOT NULL PRIMARY KEY, watts integer NOT NULL,
       place text UNIQUE ${onConflict}, updated text)`,
    );
    await queryRunner.query('CREATE TABLE deleted (id text)');
    await queryRunner.query(
      'CREATE TRIGGER note_deleted AFTER DELETE ON lamps BEGIN INSERT INTO deleted VALUES (OLD.id); END',
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('lamps');
    await queryRunner.dropTable('deleted');
  }
}

const TOUCH = `CREATE TRIGGER touch AFTER UPDATE ON lamps
  BEGIN UPDATE lamps SET updated = hex(randomblob(8)) WHERE id = NEW.id; END`;
const TOUCHED: unknown = expect.stringMatching(/^[0-9A-F]{16}$/);
const ADVICE = /Add WHEN NEW\.updated IS OLD\.updated to the trigger touch of lamps; or list/;

let store: TestStore;
let dataSource: StoreDataSource;
let lamps: BatchedRepository<Lamp>;

async function open(CHANGE_FEED: 'on' | 'off' = 'on'): Promise<void> {
  const options = createDataSourceOptions(
    { DATABASE_URL: store.url, DATABASE_POOL_SIZE: 1, CHANGE_FEED },
    {
      entities: [...platformSchema.entities, Lamp],
      migrations: [...platformSchema.migrations, CreateLamps1790000000000],
    },
  );
  dataSource = await openDatabase({ ...options, logger: 'debug' });
  lamps = new BatchedRepository(dataSource.getRepository(Lamp));
}

async function restart(CHANGE_FEED?: 'on' | 'off'): Promise<void> {
  await dataSource.destroy();
  await open(CHANGE_FEED);
}

beforeEach(async () => {
  onConflict = '';
  Logger.overrideLogger(false);
  store = await TestStore.create('sqlite');
});
afterEach(async () => {
  await dataSource.destroy();
  await store.remove();
});

function lamp(id: string, place: string | null = null, watts = 5): Lamp {
  return { id, place, watts, updated: null };
}

/** Lists the changes as `created a`, and forgets them. */
async function takeChanges(): Promise<string[]> {
  const changes = await dataSource.query<{ type: string; id: string }[]>(
    'SELECT type, id FROM changes WHERE number > 0 ORDER BY number',
  );
  await dataSource.query('DELETE FROM changes WHERE number > 0');
  return changes.map(({ type, id }) => `${type.replace('lamp.', '')} ${JSON.parse(id)}`);
}

async function listDeleted(): Promise<string[]> {
  const rows = await dataSource.query<{ id: string }[]>('SELECT id FROM deleted ORDER BY rowid');
  return rows.map(({ id }) => id);
}

describe('with the feed off', () => {
  it('a trigger that updates its own row runs once, and REPLACE fires no DELETE trigger', async () => {
    await open('off');
    await dataSource.query(TOUCH);
    await lamps.create(lamp('a', 'door'));
    await lamps.replace(lamp('a', 'door', 6));
    await lamps.change('a', (row) => row && { ...row, watts: 7 });
    await dataSource.getRepository(Lamp).update('a', { watts: 8 });
    await dataSource.query(`UPDATE OR REPLACE lamps SET watts = 9`);
    expect(await lamps.find('a')).toEqual({ ...lamp('a', 'door', 9), updated: TOUCHED });
    await dataSource.query(`REPLACE INTO lamps (id, watts) VALUES ('a', 10)`);
    expect(await listDeleted()).toEqual([]);
  });

  it('the same holds once it was switched off, also for a table that replaces rows', async () => {
    onConflict = 'ON CONFLICT REPLACE';
    await open('on');
    await restart('off');
    await dataSource.query(TOUCH);
    await lamps.createAll([lamp('a', 'door'), lamp('b', 'door')]);
    await lamps.replace(lamp('b', 'door', 6));
    expect(await lamps.find('b')).toMatchObject({ watts: 6, updated: TOUCHED });
    expect(await listDeleted()).toEqual([]);
  });
});

describe('the feed has the removal of a replaced row', () => {
  it.each([
    [`REPLACE INTO lamps (id, watts) VALUES ('a', 6)`, ['removed a', 'created a']],
    [`insert or replace into lamps (id, watts) VALUES ('a', 6)`, ['removed a', 'created a']],
    [`INSERT OR/**/REPLACE INTO "lamps" VALUES ('c', 6, 'door', '')`, ['removed a', 'created c']],
    [
      `WITH new AS (SELECT 'c' AS id, 6, 'door', '') REPLACE INTO lamps SELECT * FROM new`,
      ['removed a', 'created c'],
    ],
    [`REPLACE INTO lamps VALUES ('b', 6, 'door', '')`, ['removed b', 'removed a', 'created b']],
    [`UPDATE OR REPLACE lamps SET place = 'door' WHERE id = 'b'`, ['removed a', 'replaced b']],
    [
      `UPDATE OR REPLACE lamps SET id = 'a' WHERE id = 'b'`,
      ['removed a', 'removed b', 'created a'],
    ],
  ])('by %s', async (sql, expected) => {
    await open();
    await lamps.createAll([lamp('a', 'door'), lamp('b', 'window')]);
    await takeChanges();
    await dataSource.query(sql);
    const changes = await takeChanges();
    expect([...changes].sort()).toEqual([...expected].sort());
    expect(changes.at(-1)).toBe(expected.at(-1));
  });

  it('by a table with ON CONFLICT REPLACE', async () => {
    onConflict = 'ON CONFLICT REPLACE';
    await open();
    await lamps.createAll([lamp('a', 'door'), lamp('b', 'window')]);
    await lamps.create(lamp('c', 'door'));
    await lamps.replace(lamp('c', 'window'));
    await dataSource.getRepository(Lamp).insert(lamp('d', 'window'));
    expect(await takeChanges()).toEqual([
      ...['created a', 'created b'],
      ...['removed a', 'created c'],
      ...['removed b', 'replaced c'],
      ...['removed c', 'created d'],
    ]);
  });

  it('by a trigger that was made while the program runs, until it is dropped', async () => {
    await open();
    await lamps.create(lamp('a', 'door'));
    await dataSource.query('CREATE TABLE orders (place text)');
    await takeChanges();
    await dataSource.query(
      `CREATE TRIGGER place AFTER INSERT ON orders
       BEGIN INSERT OR REPLACE INTO lamps (id, watts, place) VALUES ('b', 1, NEW.place); END`,
    );
    await dataSource.query(`INSERT INTO orders VALUES ('door')`);
    expect(await takeChanges()).toEqual(['removed a', 'created b']);
    await dataSource.query('DROP TRIGGER place');
    await dataSource.query(TOUCH);
    await lamps.replace(lamp('b', 'door', 6));
    expect(await takeChanges()).toEqual(['replaced b', 'replaced b']);
  });
});

describe('with the feed on, a trigger that updates its own row', () => {
  it('runs once, also after a statement that replaces rows in the same transaction', async () => {
    await open();
    await dataSource.query(TOUCH);
    await lamps.createAll([lamp('a', 'door'), lamp('b', 'window')]);
    await dataSource.transaction(async (manager) => {
      await manager.query(`REPLACE INTO lamps (id, watts) VALUES ('a', 6)`);
      await lamps.change('a', (row) => row && { ...row, watts: 7 }, manager);
      await manager.query(`UPDATE lamps SET watts = 8 WHERE id = 'b'`);
    });
    await lamps.replace(lamp('b', null, 9));
    expect((await lamps.list({ limit: 9 })).rows).toMatchObject([
      { id: 'a', watts: 7, updated: TOUCHED },
      { id: 'b', watts: 9, updated: TOUCHED },
    ]);
  });

  it('runs once after a change of the schema that was rolled back', async () => {
    await open();
    await dataSource.query(TOUCH);
    await lamps.create(lamp('a'));
    const undone = dataSource.transaction(async (manager) => {
      await manager.query('CREATE TABLE replacing (id text UNIQUE ON CONFLICT REPLACE)');
      await manager.query(`INSERT INTO replacing VALUES ('a')`);
      throw new Error('no');
    });
    await expect(undone).rejects.toThrow('no');
    await lamps.replace(lamp('a', null, 6));
    expect(await lamps.find('a')).toMatchObject({ watts: 6, updated: TOUCHED });
  });

  it('runs once if another program has made it', async () => {
    await open();
    await lamps.create(lamp('a'));
    await querySqlite(store.url.replace('sqlite:', ''), TOUCH);
    await lamps.replace(lamp('a', null, 6));
    expect(await lamps.find('a')).toMatchObject({ watts: 6, updated: TOUCHED });
  });

  it('is named, with what it lacks, where rows may be replaced', async () => {
    await open();
    await dataSource.query(TOUCH);
    await lamps.create(lamp('a'));
    const replacing = dataSource.query('UPDATE OR REPLACE lamps SET watts = 7');
    await expect(replacing).rejects.toThrow(ADVICE);
    expect(await lamps.find('a')).toEqual(lamp('a'));
  });

  it('is named by its first change, and by each start, if its table replaces rows', async () => {
    onConflict = 'ON CONFLICT REPLACE';
    await open();
    await lamps.create(lamp('a'));
    await dataSource.query(TOUCH);
    await expect(lamps.replace(lamp('a', null, 6))).rejects.toThrow(ADVICE);
    const log = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    await restart();
    expect(log.mock.calls.flat()).toEqual([expect.stringMatching(ADVICE)]);
    log.mockClear();
    for (const clause of ['OF watts, place ON lamps', 'ON lamps WHEN NEW.updated IS OLD.updated']) {
      await dataSource.query('DROP TRIGGER touch');
      await dataSource.query(TOUCH.replace('ON lamps', clause));
      await lamps.replace(lamp('a', null, 7));
      await lamps.replace(lamp('a', null, 8));
      await restart();
    }
    expect(log).not.toHaveBeenCalled();
    log.mockRestore();
  });
});
