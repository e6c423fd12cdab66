import type { PoolClient, QueryConfig } from 'pg';
import { CONNECT_TIMEOUT_MS, STATEMENT_TIMEOUT_MS } from './postgres-session.js';

/**
 * Sets up a new connection, overriding defaults of the server, the database and the role: a commit
 * is flushed to disk before it is reported, no statement runs for ever, and dates are written as
 * the program reads them. If the machine of the program fails, the server ends its transactions
 * within half a minute.
 *
 * @param lockTimeout how long a statement waits for a lock, in milliseconds; 0 for no limit of its
 *   own
 * @param idleTimeout how long a transaction waits for its next statement, in milliseconds; 0 for no
 *   limit
 */
export async function setUpConnection(
  client: PoolClient,
  lockTimeout = 0,
  idleTimeout = 0,
): Promise<void> {
  const query: QueryConfig & { query_timeout: number } = {
    text: `SELECT pg_is_in_recovery() AS "isStandby",
                  set_config('statement_timeout', $1, false),
                  set_config('lock_timeout', $2, false),
                  set_config('default_transaction_isolation', 'read committed', false),
                  set_config('idle_in_transaction_session_timeout', $3, false),
                  set_config('datestyle', 'ISO, YMD', false),
                  set_config('tcp_keepalives_idle', '10', false),
                  set_config('tcp_keepalives_interval', '5', false),
                  set_config('tcp_keepalives_count', '3', false),
                  CASE WHEN current_setting('synchronous_commit') <> 'remote_apply'
                       THEN set_config('synchronous_commit', 'on', false) END`,
    values: [String(STATEMENT_TIMEOUT_MS), String(lockTimeout), String(idleTimeout)],
    // The pool's own time limit for connecting ends before this.
    query_timeout: CONNECT_TIMEOUT_MS,
  };
  const { rows } = await client.query<{ isStandby: boolean }>(query);
  // After a switchover its rows may be old, and it does not show who records changes.
  if (rows[0]?.isStandby === true) throw new Error('the server is a standby, which is read-only');
}
