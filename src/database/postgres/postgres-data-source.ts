import { Logger } from '@nestjs/common';
import type { Pool, PoolClient, QueryConfig } from 'pg';
import type { ObjectLiteral, Repository } from 'typeorm';
import type { BulkTable } from '../bulk-table.js';
import { PostgresTable } from './postgres-table.js';
import { codeOf, DatabaseStartError, StoreDataSource } from '../store-data-source.js';
import { CONNECT_TIMEOUT_MS, QUERY_TIMEOUT_MS, STATEMENT_TIMEOUT_MS } from './time-limits.js';

/** The key of the advisory lock that a program holds while it brings the schema up to date. */
const MIGRATION_LOCK = 7_252_614_403_911;

/** After its time limit, in milliseconds, nobody waits for it any more. */
type TimedQuery = QueryConfig & { query_timeout: number };

/** A store on a PostgreSQL server, on a pool of connections, for any number of programs. */
export class PostgresDataSource extends StoreDataSource {
  private readonly log = new Logger(PostgresDataSource.name);

  async enableDurableCommits(): Promise<void> {
    const [server] = await this.query<{ encoding: string; fsync: string }[]>(
      `SELECT current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync`,
    );
    if (server?.encoding !== 'UTF8') {
      throw new DatabaseStartError('The database must be in UTF8: create one with ENCODING UTF8');
    }
    if (server.fsync !== 'on') {
      this.log.warn('The database server has fsync off: a crash of its machine may lose plants');
    }
  }

  async migrate(): Promise<void> {
    const queryRunner = this.createQueryRunner();
    try {
      // Another program may take long to migrate, and a migration may be long.
      await queryRunner.query('SET statement_timeout = 0');
      await queryRunner.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
      await this.runNewMigrations(queryRunner);
      await queryRunner.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
      await queryRunner.query(`SET statement_timeout = ${STATEMENT_TIMEOUT_MS}`);
    } finally {
      await queryRunner.release();
    }
  }

  bulkTable<Row extends ObjectLiteral>(repository: Repository<Row>): BulkTable<Row> {
    return new PostgresTable(repository, this.pool, this.pool.options.max);
  }

  /** A message that nobody reads, in the log that every commit is written to. */
  async probeWrite(): Promise<void> {
    // A connection that is silent for ever must not hold up the next probe.
    const query: TimedQuery = {
      text: `SELECT pg_logical_emit_message(true, 'plant-store', '')`,
      query_timeout: QUERY_TIMEOUT_MS,
    };
    await this.pool.query(query);
  }

  private get pool(): Pool {
    return (this.driver as unknown as { master: Pool }).master;
  }

  describeError(error: unknown): string {
    const code = codeOf(error);
    if (code !== '') return REASONS[code] ?? `it reports ${code}`;
    const { message } = error as Error;
    return message.startsWith('SASL') ? 'the server wants another password' : message;
  }
}

/**
 * Sets a new connection up, whatever the server, the database and the role have as their defaults:
 * a commit is flushed to disk before it is reported, and no statement runs for ever.
 */
export async function setUpConnection(client: PoolClient): Promise<void> {
  const query: TimedQuery = {
    text: `SELECT set_config('statement_timeout', $1, false),
                  set_config('default_transaction_isolation', 'read committed', false),
                  CASE WHEN current_setting('synchronous_commit') <> 'remote_apply'
                       THEN set_config('synchronous_commit', 'on', false) END`,
    values: [String(STATEMENT_TIMEOUT_MS)],
    // The pool's own time limit for connecting ends before this.
    query_timeout: CONNECT_TIMEOUT_MS,
  };
  await client.query(query);
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'no server listens at its address',
  ECONNRESET: 'the server closed the connection',
  ENOTFOUND: 'its host is not known',
  EAI_AGAIN: 'its host is not known',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its host cannot be reached',
  ETIMEDOUT: 'the server does not answer',
  ENOENT: 'the folder of its socket, or the file of sslrootcert, does not exist',
  SELF_SIGNED_CERT_IN_CHAIN: "the server's certificate is not trusted: see sslrootcert",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the server's certificate is not trusted: see sslrootcert",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the server's certificate is not trusted: see sslrootcert",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the server's certificate is not trusted: see sslrootcert",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another host",
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  '28000': 'the user, the password or the kind of connection is not accepted',
  '28P01': 'the user or the password is not accepted',
  '3D000': 'there is no database of this name',
  '42501': 'the user may not do what is needed: make it the owner of the database',
  '42P07': 'its schema is not one that this program made',
  '25006': 'the server is read-only',
  '53300': 'the server has no connection free',
  '57P03': 'the server is starting or stopping',
};
