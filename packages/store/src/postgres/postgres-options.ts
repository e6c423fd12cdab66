import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import pg, { type CustomTypesConfig, type PoolClient } from 'pg';
import type { PostgresConnectionOptions } from 'typeorm/driver/postgres/PostgresConnectionOptions.js';
import { DatabaseStartError } from '../errors/store.errors.js';
import type { TimeLimits } from '../engine/time-limits.js';
import { setUpConnection } from './postgres-connections.js';

/** The modes of libpq that say what is encrypted and checked. */
export const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;

/** Where a server is, and how to connect to it. */
export interface PostgresUrl {
  readonly type: 'postgres';
  /** A host name, an IP address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly database: string;
  /** The modes of libpq; `disable` by default. */
  readonly sslMode: (typeof SSL_MODES)[number];
  /** The path of a file with the certificates to trust, instead of the well-known ones. */
  readonly sslRootCert: string | undefined;
}

type TlsChecks = Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized' | 'checkServerIdentity'>;

/** @param transactionTimeout how long a transaction may last, in milliseconds */
export function createPostgresOptions(
  url: PostgresUrl,
  poolSize: number,
  transactionTimeout: number | undefined,
  timeLimits: TimeLimits,
): PostgresConnectionOptions {
  const { sslMode, sslRootCert, ...connection } = url;
  const { answerMarginMs, connectMs } = timeLimits;
  const limit = transactionTimeout === undefined ? 0 : transactionTimeout + answerMarginMs;
  return {
    ...connection,
    ssl: createTlsOptions(sslMode, sslRootCert),
    installExtensions: false,
    // Its function gen_random_uuid() is part of the server since PostgreSQL 13.
    uuidExtension: 'pgcrypto',
    connectTimeoutMS: connectMs,
    poolSize,
    extra: {
      types: { getTypeParser },
      // The program ends a transaction itself, unless it hangs.
      onConnect: (client: PoolClient) => setUpConnection(client, timeLimits, 0, limit),
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
  // If sslrootcert is set, libpq also verifies the certificate in the mode `require`.
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
