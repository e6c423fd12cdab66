import { Logger } from '@nestjs/common';
import type { PoolClient } from 'pg';
import type { DataSourceOptions, QueryRunner } from 'typeorm';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EntityColumns } from '../batching/entity-columns.js';
import { TableSql } from '../batching/sql-builder.js';
import { migrateSchema } from '../data-source/migrate-schema.js';
import { getErrorCode } from '../data-source/error-code.js';
import {
  DatabaseStartError,
  StoreDataSource,
  type TableAccess,
} from '../data-source/store-data-source.js';
import { PostgresChangeLog } from './postgres-change-log.js';
import { postgresDialect } from './postgres-dialect.js';
import { StorePostgresDriver } from './postgres-driver.js';
import { classifyFailure, toConstraintError } from './postgres-errors.js';
import { PostgresPool } from './postgres-pool.js';
import { PostgresSchemaSteps } from './postgres-schema-steps.js';
import { ROW_LOCK_TIMEOUT_MS } from './postgres-session.js';
import { setUpConnection } from './set-up-connection.js';

/** The key of the advisory lock that a program holds while it brings the schema up to date. */
const MIGRATION_LOCK = 7_252_614_403_911;

/** How often a program tries to get the migration lock, in milliseconds. */
const MIGRATION_POLL_MS = 200;

/** How many connections read rows by key, and how many more read pages. */
const READERS = 2;

/**
 * How long the server waits for the next statement of a batch, in milliseconds. It then frees the
 * rows that a program has locked which hangs.
 */
const IDLE_TIMEOUT_MS = 10_000;

/** The pools that TypeORM's transactions cannot exhaust. */
interface OwnPools {
  readonly writers: PostgresPool;
  readonly rowReaders: PostgresPool;
  readonly pageReaders: PostgresPool;
}

/** A store on a PostgreSQL server, for any number of programs. */
export class PostgresDataSource extends StoreDataSource {
  declare driver: StorePostgresDriver;
  /** Each page is a statement of its own. */
  readonly maxPages = 1;
  private readonly log = new Logger(PostgresDataSource.name);
  readonly changeLog = new PostgresChangeLog();
  private opened: OwnPools | undefined;

  constructor(options: DataSourceOptions) {
    super(options);
    this.driver = new StorePostgresDriver(this);
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
    await this.migrate();
  }

  /** Brings the schema up to date. */
  private async migrate(): Promise<void> {
    await this.withMigrationLock(async (queryRunner) => {
      await migrateSchema(this, queryRunner);
      await this.setUpChangeFeed(queryRunner);
    });
  }

  /** Executes work on the schema, in one program at a time. */
  private async withMigrationLock(
    work: (queryRunner: QueryRunner) => Promise<void>,
  ): Promise<void> {
    const queryRunner = this.createQueryRunner();
    try {
      // A migration may take long, here or in another program.
      await queryRunner.setTimeLimit(undefined);
      // A statement waiting for the lock would block CREATE INDEX CONCURRENTLY in the other
      // program.
      while (!(await this.tryMigrationLock(queryRunner))) await sleep(MIGRATION_POLL_MS);
      try {
        await work(queryRunner);
      } finally {
        // If the connection is lost, so is the lock.
        await queryRunner
          .query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK])
          .catch(() => undefined);
      }
    } finally {
      await queryRunner.release();
    }
  }

  private async tryMigrationLock(queryRunner: QueryRunner): Promise<boolean> {
    const [lock] = (await queryRunner.query('SELECT pg_try_advisory_lock($1) AS taken', [
      MIGRATION_LOCK,
    ])) as { taken: boolean }[];
    return lock?.taken === true;
  }

  get writers(): PostgresPool {
    return this.pools.writers;
  }

  get rowReaders(): PostgresPool {
    return this.pools.rowReaders;
  }

  get pageReaders(): PostgresPool {
    return this.pools.pageReaders;
  }

  accessTable(columns: EntityColumns): TableAccess {
    const sql = new TableSql(columns, postgresDialect);
    const { metadata } = columns;
    const entities = [
      metadata,
      ...this.entityMetadatas.filter((other) => other.tableName !== metadata.tableName),
    ];
    return {
      sql,
      classifier: {
        classify: classifyFailure,
        toConstraintError: (error, isRemoval) =>
          toConstraintError(error, entities, { table: metadata.tableName, isRemoval }),
      },
    };
  }

  createSchemaSteps(queryRunner: QueryRunner): PostgresSchemaSteps {
    return new PostgresSchemaSteps(queryRunner);
  }

  /** Writes a message without readers to the write-ahead log, which contains every commit. */
  async probeWrite(): Promise<void> {
    const session = await this.writers.acquire();
    let isBroken = true;
    try {
      await session.query(PROBE, []);
      isBroken = false;
    } finally {
      await session.release(isBroken);
    }
  }

  /** The messages of the server and of the system name the objects concerned, and no password. */
  describeError(error: unknown): string {
    const cause = (error as { driverError?: Error }).driverError ?? (error as Error);
    // The failure to connect to each of several addresses has no message of its own.
    return cause.message || getErrorCode(cause);
  }

  override async destroy(): Promise<void> {
    const { opened } = this;
    this.opened = undefined;
    await opened?.writers.close();
    await opened?.rowReaders.close();
    await opened?.pageReaders.close();
    await super.destroy();
  }

  private get pools(): OwnPools {
    return (this.opened ??= {
      writers: this.openPool(this.driver.options.poolSize ?? 1, ROW_LOCK_TIMEOUT_MS),
      rowReaders: this.openPool(READERS),
      pageReaders: this.openPool(READERS),
    });
  }

  private openPool(max: number, lockTimeout = 0): PostgresPool {
    const onConnect = (client: PoolClient): Promise<void> =>
      setUpConnection(client, lockTimeout, IDLE_TIMEOUT_MS);
    return new PostgresPool(this.driver.createOwnPool({ max, onConnect }), max);
  }
}

const PROBE = { name: 'probe', text: `SELECT pg_logical_emit_message(true, 'plant-store', '')` };
