import pg, { type Pool, type PoolClient, type PoolConfig, type QueryConfig } from 'pg';
import type { PostgresConnectionOptions } from 'typeorm/driver/postgres/PostgresConnectionOptions.js';
import { WAIT_TIMEOUT_MS } from '../../config/env.js';
import { PooledSession, type SessionPool, type Statement } from '../batching/session.js';

/** How long it may take to connect, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 2_000;

/** After this time the server aborts a statement, in milliseconds. */
export const STATEMENT_TIMEOUT_MS = 4_000;

/** How much longer the program waits for the answer of the server, in milliseconds. */
export const ANSWER_MARGIN_MS = 500;

/**
 * How long a batch waits for an answer, in milliseconds: the server aborts a statement before,
 * unless the connection is dead.
 */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + ANSWER_MARGIN_MS;

/** The types of pg do not know the time limit of a query. */
type LimitedQuery = QueryConfig & { readonly query_timeout: number };

/**
 * After this time the server ends the transaction of a batch, in milliseconds, and frees the rows
 * that it has locked. By then nobody waits for the batch.
 */
const BATCH_TIMEOUT_MS = 10_000;

/** Sets how long a statement and a transaction last, in milliseconds; 0 for no limit. */
export const SET_TIME_LIMITS = `
  set_config('statement_timeout', $1, false),
  set_config('idle_in_transaction_session_timeout', $2, false),
  CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
       THEN set_config('transaction_timeout', $2, false) END`;

/**
 * Sets up a new connection, overriding defaults of the server, the database and the role: a commit
 * is flushed to disk before it is reported, no statement runs for ever, and dates are written as
 * the program reads them. If the machine of the program fails, the server ends its transactions
 * within half a minute; if the program hangs, after a time limit.
 *
 * @param lockTimeout how long a statement waits for a lock, in milliseconds; 0 for no limit of its
 *   own
 * @param transactionTimeout how long a transaction lasts, in milliseconds; 0 for no limit. Servers
 *   before version 17 limit only how long it waits for its next statement.
 */
export async function setUpConnection(
  client: PoolClient,
  lockTimeout: number,
  transactionTimeout: number,
): Promise<void> {
  const query: LimitedQuery = {
    text: `SELECT pg_is_in_recovery() AS "isStandby", ${SET_TIME_LIMITS},
                  set_config('lock_timeout', $3, false),
                  set_config('default_transaction_isolation', 'read committed', false),
                  set_config('datestyle', 'ISO, YMD', false),
                  set_config('tcp_keepalives_idle', '10', false),
                  set_config('tcp_keepalives_interval', '5', false),
                  set_config('tcp_keepalives_count', '3', false),
                  CASE WHEN current_setting('synchronous_commit') <> 'remote_apply'
                       THEN set_config('synchronous_commit', 'on', false) END`,
    values: [STATEMENT_TIMEOUT_MS, transactionTimeout, lockTimeout].map(String),
    // The pool's own time limit for connecting ends before this.
    query_timeout: CONNECT_TIMEOUT_MS,
  };
  const { rows } = await client.query<{ isStandby: boolean }>(query);
  // After a switchover its rows may be old, and it does not show who records changes.
  if (rows[0]?.isStandby === true) throw new Error('the server is a standby, which is read-only');
}

/** A pool of connections beside TypeORM's, which its transactions cannot exhaust. */
export class PostgresPool implements SessionPool {
  private readonly pool: Pool;

  /**
   * @param options those of TypeORM's pool
   * @param lockTimeout how long a statement waits for a lock, in milliseconds; 0 for as long as it
   *   may take
   */
  constructor(
    options: PostgresConnectionOptions,
    readonly size: number,
    lockTimeout = 0,
  ) {
    const { host, port, username, password, database, ssl, applicationName } = options;
    this.pool = new pg.Pool({
      ...{ host, port, user: username, password, database, ssl },
      application_name: applicationName,
      connectionTimeoutMillis: WAIT_TIMEOUT_MS,
      // Statements are sent without waiting for the results of those before.
      pipeline: true,
      ...(options.extra as PoolConfig),
      max: size,
      query_timeout: ANSWER_TIMEOUT_MS,
      onConnect: (client: PoolClient) => setUpConnection(client, lockTimeout, BATCH_TIMEOUT_MS),
      // The types of pg do not know these options of the pool.
    } as unknown as PoolConfig);
    // The pool replaces a connection that breaks while idle.
    this.pool.on('error', ignore);
  }

  /** @throws Error when no connection is free in time */
  async acquire(): Promise<PooledSession> {
    const client = await this.pool.connect();
    // An error event without a listener would end the program. The statements fail anyway.
    client.on('error', ignore);
    return new PostgresSession(client);
  }

  /** Closes the pool once all sessions are released. */
  async close(): Promise<void> {
    if (!this.pool.ending) await this.pool.end();
  }
}

function ignore(): void {
  // The callers say why.
}

/** Statements on one connection to a PostgreSQL server. */
class PostgresSession extends PooledSession {
  constructor(private readonly client: PoolClient) {
    super('BEGIN', true);
  }

  async query<Row>({ name, text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    const { rows } = await this.client.query({ name, text, values: parameters as unknown[] });
    return rows as Row[];
  }

  protected async control(sql: string): Promise<void> {
    const { command } = await this.client.query(sql);
    // The server answers ROLLBACK to a COMMIT if a statement of the transaction has failed.
    if (sql === 'COMMIT' && command !== 'COMMIT')
      throw new Error('The transaction was rolled back');
  }

  release(hasFailed: boolean): Promise<void> {
    this.client.off('error', ignore);
    // The pool replaces a broken connection.
    this.client.release(hasFailed || this.isBroken);
    return Promise.resolve();
  }
}
