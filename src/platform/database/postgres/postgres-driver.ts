import pg, { type Pool, type PoolClient, type PoolConfig } from 'pg';
import { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { ReplicationMode } from 'typeorm/driver/types/ReplicationMode.js';
import { WAIT_TIMEOUT_MS } from '../../config/env.js';
import { StorePostgresQueryRunner } from './postgres-query-runner.js';

// Everything that depends on internals of TypeORM's PostgreSQL driver.
// test/postgres/driver.e2e-spec.ts fails if an upgrade changes them.

/** TypeORM's driver, with the query runner of this project and with further pools. */
export class StorePostgresDriver extends PostgresDriver {
  override createQueryRunner(mode: ReplicationMode): StorePostgresQueryRunner {
    return new StorePostgresQueryRunner(this, mode);
  }

  /** Creates a pool beside TypeORM's, which its transactions cannot exhaust. */
  createOwnPool(config: { max: number; onConnect: (client: PoolClient) => Promise<void> }): Pool {
    const { host, port, username, password, database, ssl, applicationName } = this.options;
    const pool = new pg.Pool({
      ...{ host, port, user: username, password, database, ssl },
      application_name: applicationName,
      connectionTimeoutMillis: WAIT_TIMEOUT_MS,
      // Statements are sent without waiting for the results of those before.
      pipeline: true,
      ...(this.options.extra as PoolConfig),
      ...config,
      // The types of pg do not know these options of the pool.
    } as unknown as PoolConfig);
    // The pool replaces a connection that breaks while idle.
    pool.on('error', () => undefined);
    return pool;
  }
}
