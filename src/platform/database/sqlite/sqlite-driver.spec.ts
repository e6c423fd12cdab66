import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn, QueryResult } from 'typeorm';
import { SqliteDriver } from 'typeorm/driver/sqlite/SqliteDriver.js';
import { SqliteQueryRunner } from 'typeorm/driver/sqlite/SqliteQueryRunner.js';
import { prependLineFeed } from '../batching/session.js';
import { SqliteDataSource } from './sqlite-data-source.js';
import { SqliteConnection } from './sqlite-connection.js';

// The internals of TypeORM 0.3 that the driver depends on. A failure shows what an upgrade has
// changed.

@Entity('notes')
class Note {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column({ type: 'bigint' })
  size!: string;
}

@Entity('keys')
class Key {
  @PrimaryColumn({ type: 'bigint' })
  id!: string;
}

let dataSource: SqliteDataSource;
let connection: SqliteConnection;

beforeEach(async () => {
  Logger.overrideLogger(false);
  dataSource = new SqliteDataSource({
    type: 'sqlite',
    database: ':memory:',
    entities: [Note, Key],
    extra: {},
    logger: 'debug',
  });
  await dataSource.initialize();
  await dataSource.synchronize();
  connection = await SqliteConnection.open(dataSource.driver.options.database);
});

afterEach(async () => {
  await connection.close();
  await dataSource.destroy();
});

describe("TypeORM's SQLite driver", () => {
  it('makes every query runner by createQueryRunner()', () => {
    const [one, other] = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
    expect(one).toBeInstanceOf(SqliteQueryRunner);
    expect(one).not.toBe(other);
    expect(dataSource.driver).toBeInstanceOf(SqliteDriver);
  });

  it('asks connect() for the connection at each statement', async () => {
    const runner = new SqliteQueryRunner(dataSource.driver);
    let calls = 0;
    runner.connect = () => {
      calls++;
      return Promise.resolve(connection.database);
    };
    await runner.query('SELECT 1');
    expect(calls).toBe(1);
  });

  it('asks query() for a structured result when a query builder reads', async () => {
    const runner = dataSource.createQueryRunner();
    expect(await runner.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(await runner.query('SELECT 1 AS one', [], true)).toBeInstanceOf(QueryResult);
    await runner.query("INSERT INTO keys VALUES ('9007199254740993')");
    expect(await dataSource.getRepository(Key).find()).toEqual([{ id: '9007199254740993' }]);
    await runner.release();
  });

  it.each([
    "INSERT INTO keys VALUES ('6') RETURNING CAST(id AS TEXT) AS id",
    'UPDATE keys SET id = 6 RETURNING CAST(id AS TEXT) AS id',
    'DELETE FROM keys RETURNING 6 AS id',
  ])('gives the rows of %s only with prependLineFeed()', async (sql) => {
    await dataSource.query('INSERT INTO keys VALUES (5)');
    const rows = await dataSource.query<{ id: unknown }[]>(prependLineFeed(sql));
    expect(rows.map(({ id }) => String(id))).toEqual(['6']);
  });
});
