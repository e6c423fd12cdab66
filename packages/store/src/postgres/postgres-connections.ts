import pg, {
  type Pool,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResult,
} from 'pg';
import type { PostgresConnectionOptions } from 'typeorm/driver/postgres/PostgresConnectionOptions.js';
import type { PooledSession, SessionPool, Statement } from '../engine/engine.js';
import type { StoreExtra } from '../engine/store-data-source.js';
import type { TimeLimits } from '../engine/time-limits.js';
import { PooledSqlSession } from '../engine/sessions.js';
import { StoreUnavailableError } from '../errors/store.errors.js';
import {
  explainRefusedStatement,
  isRefusedStatement,
  isStaleStatement,
} from './postgres-errors.js';

/** The types of pg do not know the time limit of a query. */
type LimitedQuery = QueryConfig & { readonly query_timeout: number };

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
  { statementMs, connectMs }: TimeLimits,
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
    values: [statementMs, transactionTimeout, lockTimeout].map(String),
    // The pool's own time limit for connecting ends before this.
    query_timeout: connectMs,
  };
  const { rows } = await client.query<{ isStandby: boolean }>(query);
  // After a switchover its rows may be old, and it does not show which programs record changes.
  if (rows[0]?.isStandby === true) throw new Error('the server is a standby, which is read-only');
}

/** A pool of connections beside TypeORM's, which its transactions cannot exhaust. */
export class PostgresPool implements SessionPool {
  private readonly pool: Pool;
  /** The texts of statements that the server has refused on a new connection. */
  readonly refused = new Set<string>();
  /** Grows whenever a connection is found to be stale. */
  private generation = 0;
  /** The generation in which each connection was used first. */
  private readonly generations = new WeakMap<PoolClient, number>();

  /**
   * @param options of TypeORM's pool
   * @param lockTimeout how long a statement waits for a lock, in milliseconds; 0 for as long as it
   *   may take
   */
  constructor(
    options: PostgresConnectionOptions,
    readonly size: number,
    lockTimeout = 0,
  ) {
    const { host, port, username, password, database, ssl, applicationName } = options;
    const { timeLimits } = options.extra as StoreExtra;
    const { waitMs, answerMs, batchMs } = timeLimits;
    this.pool = new pg.Pool({
      ...{ host, port, user: username, password, database, ssl },
      application_name: applicationName,
      connectionTimeoutMillis: waitMs,
      // Statements are sent without waiting for the results of earlier ones.
      pipeline: true,
      ...(options.extra as PoolConfig),
      max: size,
      query_timeout: answerMs,
      onConnect: (client: PoolClient) => setUpConnection(client, timeLimits, lockTimeout, batchMs),
      // The types of pg do not know these options of the pool.
    } as unknown as PoolConfig);
    // The pool replaces a connection that breaks while idle.
    this.pool.on('error', ignore);
  }

  /** @throws Error when no connection is free in time */
  async acquire(): Promise<PooledSession> {
    return new PostgresSession(this, await this.connect());
  }

  /**
   * Takes a connection of the current generation.
   *
   * @throws Error when none is free in time
   */
  async connect(): Promise<Connection> {
    for (;;) {
      const client = await this.pool.connect();
      const generation = this.generations.get(client);
      const isNew = generation === undefined;
      if (isNew || generation === this.generation) {
        this.generations.set(client, this.generation);
        // An error event without a listener would end the program. The statements fail anyway.
        client.on('error', ignore);
        return { client, isNew };
      }
      client.release(true);
    }
  }

  /** @param isBroken whether the pool replaces the connection */
  release({ client }: Connection, isBroken: boolean): void {
    client.off('error', ignore);
    client.release(isBroken || !this.isCurrent(client));
  }

  /** Has the pool replace a stale connection, and all that are as old, once they are released. */
  retire({ client }: Connection): void {
    if (this.isCurrent(client)) this.generation++;
  }

  private isCurrent(client: PoolClient): boolean {
    return this.generations.get(client) === this.generation;
  }

  /**
   * Checks that the server does not refuse a statement, without executing it.
   *
   * @throws StoreUnavailableError
   */
  async assertAccepted({ text }: Statement, parameters: readonly unknown[]): Promise<void> {
    try {
      await this.pool.query(`EXPLAIN ${text}`, [...parameters]);
    } catch (error) {
      // Others are not about the statement: its table may be locked.
      if (isRefusedStatement(error)) throw explainRefusedStatement(error, text);
    }
  }

  /** Closes the pool once all sessions are released. */
  async close(): Promise<void> {
    if (!this.pool.ending) await this.pool.end();
  }
}

function ignore(): void {
  // The callers say why.
}

/** A connection of a pool. */
interface Connection {
  readonly client: PoolClient;
  /** Whether nothing was prepared on it before. */
  readonly isNew: boolean;
}

/** A table was changed after a statement, or a function, was prepared on the connection. */
class StaleConnectionError extends StoreUnavailableError {}

/**
 * Statements on one connection to a PostgreSQL server. If it is stale, it is replaced, and the
 * statement or the transaction is executed once more.
 */
class PostgresSession extends PooledSqlSession {
  private hasAnswered = false;
  /** Undefined if a stale connection could not be replaced. */
  private connection: Connection | undefined;

  constructor(
    private readonly pool: PostgresPool,
    connection: Connection,
  ) {
    super('BEGIN', true);
    this.connection = connection;
  }

  async query<Row>({ name, text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    const send = (): Promise<QueryResult> => this.send({ name, text, values: [...parameters] });
    // After a failover, another connection may lead to another server than the first answer came
    // from.
    const isRepeatable = !this.isInTransaction && !this.hasAnswered;
    const { rows } = await (isRepeatable ? this.repeatIfStale(send) : send());
    this.hasAnswered = true;
    return rows as Row[];
  }

  override async transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    const transact = (): Promise<Result> => super.transaction(work);
    return await (this.isInTransaction ? transact() : this.repeatIfStale(transact));
  }

  protected async control(sql: string): Promise<void> {
    const { command } = await this.send({ text: sql });
    // The server answers ROLLBACK to a COMMIT if a statement of the transaction has failed.
    if (sql === 'COMMIT' && command !== 'COMMIT')
      throw new Error('The transaction was rolled back');
  }

  private async repeatIfStale<Result>(execute: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await execute();
      } catch (error) {
        if (!(error instanceof StaleConnectionError)) throw error;
      }
      await this.release(true);
      this.connection = await this.pool.connect();
    }
  }

  /** @throws StaleConnectionError unless the connection is new */
  private async send(query: QueryConfig): Promise<QueryResult> {
    const { connection, pool } = this;
    if (connection === undefined) throw new Error('The connection could not be replaced');
    try {
      return await connection.client.query(query);
    } catch (error) {
      const isRefused = isRefusedStatement(error);
      const mayBeAccepted = isRefused && !pool.refused.has(query.text);
      if (!connection.isNew && (mayBeAccepted || isStaleStatement(error))) {
        pool.retire(connection);
        throw new StaleConnectionError(error as Error);
      }
      if (!isRefused) throw error;
      pool.refused.add(query.text);
      throw explainRefusedStatement(error, query.text);
    }
  }

  release(hasFailed: boolean): Promise<void> {
    const { connection } = this;
    this.connection = undefined;
    if (connection !== undefined) this.pool.release(connection, hasFailed || this.isBroken);
    return Promise.resolve();
  }
}
