import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import pg, { type CustomTypesConfig, type PoolClient } from 'pg';
import type { PostgresConnectionOptions } from 'typeorm/driver/postgres/PostgresConnectionOptions.js';
import type { PostgresUrl } from '../open/database-url.js';
import { DatabaseStartError } from '../errors/store.errors.js';
import { ANSWER_MARGIN_MS, CONNECT_TIMEOUT_MS, setUpConnection } from './postgres-connections.js';

type TlsChecks = Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized' | 'checkServerIdentity'>;

/** @param transactionTimeout how long a transaction may last, in milliseconds */
export function createPostgresOptions(
  url: PostgresUrl,
  poolSize: number,
  transactionTimeout: number | undefined,
): PostgresConnectionOptions {
  const { sslMode, sslRootCert, ...connection } = url;
  const limit = transactionTimeout === undefined ? 0 : transactionTimeout + ANSWER_MARGIN_MS;
  return {
    ...connection,
    ssl: createTlsOptions(sslMode, sslRootCert),
    installExtensions: false,
    // Its function gen_random_uuid() is part of the server since PostgreSQL 13.
    uuidExtension: 'pgcrypto',
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    poolSize,
    extra: {
      types: { getTypeParser },
      // The program ends a transaction itself, unless it hangs.
      onConnect: (client: PoolClient) => setUpConnection(client, 0, limit),
      keepAlive: true,
      // Idle connections stay open, so that no create waits for a new one. Each is replaced in
      // time, so that all follow when the host name moves to another server.
      idleTimeoutMillis: 0,
      maxLifetimeSeconds: 1_800,
    },
  };
}

const DATE = pg.types.builtins.DATE;
const TIMESTAMP_WITH_TIME_ZONE = pg.types.builtins.TIMESTAMPTZ;

/** Lets raw queries return dates and times as the same text that rows have, not in local time. */
const getTypeParser: CustomTypesConfig['getTypeParser'] = (oid, format) => {
  if (oid === DATE) return (text: string) => text;
  if (oid === TIMESTAMP_WITH_TIME_ZONE) {
    // The server uses its own time zone: 0001-12-31 19:03:58-04:56:02 BC.
    const parse = pg.types.getTypeParser(oid) as (text: string) => unknown;
    return (text: string) => {
      const moment = parse(text);
      return moment instanceof Date ? moment.toISOString() : text;
    };
  }
  return pg.types.getTypeParser(oid, format) as (text: string) => unknown;
};

/** Translates the modes of libpq. */
function createTlsOptions(
  mode: PostgresUrl['sslMode'],
  rootCert: string | undefined,
): false | TlsChecks {
  if (mode === 'disable') return false;
  // If sslrootcert is given, libpq also verifies the certificate in the mode `require`.
  const checks: TlsChecks = { rejectUnauthorized: mode !== 'require' || rootCert !== undefined };
  if (rootCert !== undefined) checks.ca = readCertificates(rootCert);
  if (mode !== 'verify-full') checks.checkServerIdentity = () => undefined;
  return checks;
}

function readCertificates(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new DatabaseStartError('The file that sslrootcert names cannot be read', { cause });
  }
}
