import { Logger } from '@nestjs/common';
import type { QueryRunner } from 'typeorm';
import type { PostgresConnectionOptions } from 'typeorm/driver/postgres/PostgresConnectionOptions.js';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DatabaseStartError,
  type SessionPools,
  StoreDataSource,
} from '../data-source/store-data-source.js';
import { PostgresChangeLog } from './postgres-change-log.js';
import { PostgresPool } from './postgres-connections.js';
import { postgresDialect } from './postgres-dialect.js';
import { postgresErrors } from './postgres-errors.js';
import { StorePostgresDriver } from './postgres-query-runner.js';
import { PostgresSchemaSteps } from './postgres-schema-steps.js';

/** The key of the advisory lock that a program holds while it brings the schema up to date. */
const MIGRATION_LOCK = 7_252_614_403_911;

/** How often a program tries to get the migration lock, in milliseconds. */
const MIGRATION_POLL_MS = 200;

/** How many connections read rows by key, many of them in one statement. */
const ROW_READERS = 2;

/**
 * How long a batch waits for a key that another session has inserted but not committed, in
 * milliseconds. The row is then tried again later.
 */
const ROW_LOCK_TIMEOUT_MS = 20;

/** A store on a PostgreSQL server, for any number of programs. */
export class PostgresDataSource extends StoreDataSource {
  declare driver: StorePostgresDriver;
  readonly dialect = postgresDialect;
  readonly errors = postgresErrors;
  readonly changeLog = new PostgresChangeLog();
  readonly SchemaSteps = PostgresSchemaSteps;
  /** A message without readers in the write-ahead log, which contains every commit. */
  protected readonly probe = {
    name: 'probe',
    text: `SELECT pg_logical_emit_message(true, 'plant-store', '')`,
  };
  private readonly log = new Logger(PostgresDataSource.name);
  /** Pools of their own, which TypeORM's transactions cannot exhaust. */
  readonly pools: Record<keyof SessionPools, PostgresPool>;

  constructor(options: PostgresConnectionOptions) {
    super(options);
    this.driver = new StorePostgresDriver(this);
    const { poolSize = 1 } = options;
    this.pools = {
      writers: new PostgresPool(options, poolSize, ROW_LOCK_TIMEOUT_MS),
      rowReaders: new PostgresPool(options, ROW_READERS),
      pageReaders: new PostgresPool(options, poolSize),
    };
  }

  get description(): string {
    const { host = '', port, database, username } = this.driver.options;
    // A path is the folder of a Unix socket, and only an IPv6 address has colons.
    const address = host.includes(':') ? `[${host}]` : host;
    return `the PostgreSQL database ${String(database)} at ${address}:${port} as the user ${String(username)}`;
  }

  async open(): Promise<void> {
    await this.initialize();
    const [server] = await this.query<{ encoding: string; fsync: string }[]>(
      `SELECT current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync`,
    );
    if (server?.encoding !== 'UTF8') {
      throw new DatabaseStartError('The database must be in UTF8: create one with ENCODING UTF8');
    }
    if (server.fsync !== 'on') {
      this.log.warn('The database server has fsync off: a crash of its machine may lose plants');
    }
    const queryRunner = this.createQueryRunner();
    try {
      // A migration may take long, here or in another program.
      await queryRunner.setTimeLimit(undefined);
      // One program at a time. A statement that waits for the lock would block CREATE INDEX
      // CONCURRENTLY in the other program.
      while (!(await tryMigrationLock(queryRunner))) await sleep(MIGRATION_POLL_MS);
      await this.updateSchema(queryRunner);
    } finally {
      // This closes the connection, since it has other time limits, and so ends the lock.
      await queryRunner.release();
    }
  }

  override async destroy(): Promise<void> {
    for (const pool of Object.values(this.pools)) await pool.close();
    await super.destroy();
  }
}

async function tryMigrationLock(queryRunner: QueryRunner): Promise<boolean> {
  const sql = 'SELECT pg_try_advisory_lock($1) AS taken';
  const [lock] = (await queryRunner.query(sql, [MIGRATION_LOCK])) as { taken: boolean }[];
  return lock?.taken === true;
}
