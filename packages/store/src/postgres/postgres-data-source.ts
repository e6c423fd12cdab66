import { Logger } from '@nestjs/common';
import type { Migration } from 'typeorm';
import type { PostgresConnectionOptions } from 'typeorm/driver/postgres/PostgresConnectionOptions.js';
import type { SessionPools } from '../engine/engine.js';
import { StoreDataSource } from '../engine/store-data-source.js';
import { DatabaseStartError } from '../errors/store.errors.js';
import { PostgresChangeLog } from './postgres-change-log.js';
import { PostgresPool } from './postgres-connections.js';
import { postgresDialect } from './postgres-dialect.js';
import { postgresErrors } from './postgres-errors.js';
import { PostgresMigrations } from './postgres-migrations.js';
import { StorePostgresDriver } from './postgres-query-runner.js';
import { CURRENT_SCHEMA, PostgresSchemaSteps } from './postgres-schema-steps.js';

/** The table in which TypeORM records the migrations of a store. */
const MIGRATIONS_TABLE = 'migrations';

type RunArguments = Parameters<StoreDataSource['runMigrations']>;

/** The properties of a server that a start checks. */
interface Server {
  readonly encoding: string;
  readonly fsync: string;
  /** The role that the tables of the store belong to, if this one may not read them. */
  readonly owner: string | null;
  /** How many connections this role may open at most. */
  readonly connections: number;
}

/** Roles with a limit of -1 have none. TypeORM would not see the tables of another role. */
const READ_SERVER = `
  SELECT current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync,
         (SELECT pg_get_userbyid(relowner) FROM pg_class
          WHERE relname = $1 AND relnamespace = ${CURRENT_SCHEMA}
            AND NOT has_table_privilege(oid, 'SELECT')) AS owner,
         LEAST(
           current_setting('max_connections')::integer
             - current_setting('superuser_reserved_connections')::integer,
           (SELECT NULLIF(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
           (SELECT NULLIF(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
         ) AS connections`;

/** Lists the schemas of the search path that have migrations of this role, or are the current one. */
const LIST_SCHEMAS = `
  SELECT quote_ident(nspname) AS name, quote_ident(current_schema()) AS current,
         quote_ident(current_user) AS role
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE relname = $1 AND nspname = ANY(current_schemas(false))
    AND (nspname = current_schema() OR pg_get_userbyid(relowner) = current_user)
  ORDER BY array_position(current_schemas(false), nspname)`;

/** How many connections read rows by key, many of them in one statement. */
export const ROW_READERS = 2;

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
  readonly changeLog = new PostgresChangeLog(this);
  readonly migrationRules = new PostgresMigrations(this.changeLog);
  readonly SchemaSteps = PostgresSchemaSteps;
  /** A message without readers in the write-ahead log, which contains every commit. */
  readonly probe = {
    name: 'probe',
    text: `SELECT pg_logical_emit_message(true, 'probe', '')`,
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

  readonly path = undefined;

  get location(): string {
    const { host = '', port, database } = this.driver.options;
    // A path is the folder of a Unix socket, and only an IPv6 address has colons.
    const address = host.includes(':') ? `[${host}]` : host;
    return `${String(database)} at ${address}:${port}`;
  }

  get description(): string {
    return `the PostgreSQL database ${this.location} as the user ${String(this.driver.options.username)}`;
  }

  async open(): Promise<void> {
    await this.initialize().catch(explainMissingPassword);
    await this.checkServer();
    await this.assertSchema();
    await this.withMigrations((executor, queryRunner) => this.updateSchema(executor, queryRunner));
  }

  /** Checks also that rows of each table that batches write can be created or replaced. */
  override async probeWrite(): Promise<void> {
    await super.probeWrite();
    const { writers } = this.pools;
    for (const { insert, update } of this.written.values()) {
      await writers.assertAccepted(...insert).catch(() => writers.assertAccepted(...update));
    }
  }

  /** @throws DatabaseStartError */
  private async checkServer(): Promise<void> {
    const [server] = await this.query<Server[]>(READ_SERVER, [MIGRATIONS_TABLE]);
    if (server?.encoding !== 'UTF8') {
      throw new DatabaseStartError('The database must be in UTF8: create one with ENCODING UTF8');
    }
    if (server.owner !== null) {
      throw new DatabaseStartError(
        `The tables in ${this.description} belong to the role ${server.owner}: connect as this role, or give them to yours with REASSIGN OWNED`,
      );
    }
    if (server.fsync !== 'on') {
      this.log.warn('The database server has fsync off: a crash of its machine may lose rows');
    }
    const { poolSize = 1 } = this.options as PostgresConnectionOptions;
    const needed = 3 * poolSize + ROW_READERS;
    if (server.connections < needed) {
      this.log.warn(
        `The server allows ${server.connections} connections, and this program opens up to ${needed}, so requests may get 503: allow more, or lower DATABASE_POOL_SIZE`,
      );
    }
  }

  override async runMigrations(...args: RunArguments): Promise<Migration[]> {
    await this.assertSchema();
    return await super.runMigrations(...args);
  }

  /**
   * The current schema becomes another one when a schema of the role's name is made, and a start
   * would make a new store there.
   *
   * @throws DatabaseStartError when only a later schema of the search path has this program's store
   */
  private async assertSchema(): Promise<void> {
    const schemas = await this.query<Record<'name' | 'current' | 'role', string>[]>(LIST_SCHEMAS, [
      MIGRATIONS_TABLE,
    ]);
    for (const { name, current, role } of schemas) {
      if (name === current) return;
      const executed = await this.query<{ name: string }[]>(
        `SELECT coalesce(to_jsonb(migration) ->> 'name', '') AS name FROM ${name}.${MIGRATIONS_TABLE} AS migration`,
      );
      const isOther = this.compareMigrations(executed).unknown.length > 0;
      if (executed.length === 0 || isOther) continue;
      throw new DatabaseStartError(
        `The schema ${current} has no store, but ${name} has, which follows in the search_path of the role ${role}: execute ALTER ROLE ${role} SET search_path = ${name}, or = ${current} for a new store`,
      );
    }
  }

  override async destroy(): Promise<void> {
    for (const pool of Object.values(this.pools)) await pool.close();
    await super.destroy();
  }
}

/** @throws DatabaseStartError instead of an error of pg about the type of a password */
function explainMissingPassword(error: unknown): never {
  const { message } = error as Error;
  if (!message.includes('client password must be a string')) throw error;
  throw new DatabaseStartError('The server wants a password, and DATABASE_URL has none');
}
