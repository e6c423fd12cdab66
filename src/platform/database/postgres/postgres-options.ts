import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import pg, { type CustomTypesConfig } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import type { PostgresUrl } from '../../config/database-url.js';
import { DatabaseStartError } from '../data-source/store-data-source.js';
import { setUpConnection } from './postgres-data-source.js';
import { CONNECT_TIMEOUT_MS } from './postgres-session.js';

type TlsChecks = Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized' | 'checkServerIdentity'>;

export function postgresOptions(url: PostgresUrl, poolSize: number): DataSourceOptions {
  const { host, port, username, password, database } = url;
  return {
    type: 'postgres',
    host,
    port,
    username,
    password,
    database,
    ssl: tlsOptions(url),
    applicationName: 'plant-store',
    installExtensions: false,
    // Its function is part of the server since PostgreSQL 13.
    uuidExtension: 'pgcrypto',
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    poolSize,
    extra: {
      types: { getTypeParser },
      onConnect: setUpConnection,
      keepAlive: true,
      // Quiet minutes must not cost the next create a connect; now and then all move to another
      // server behind the same name.
      idleTimeoutMillis: 0,
      maxLifetimeSeconds: 1_800,
    },
  };
}

const DATE = pg.types.builtins.DATE;
const TIMESTAMP_WITH_TIME_ZONE = pg.types.builtins.TIMESTAMPTZ;

/** Raw queries give a day and a moment as text in the one spelling that rows have, and not in local time. */
const getTypeParser: CustomTypesConfig['getTypeParser'] = (oid, format) => {
  if (oid === DATE) return (text: string) => text;
  if (oid === TIMESTAMP_WITH_TIME_ZONE) {
    // The server writes it in its own time zone: 0001-12-31 19:03:58-04:56:02 BC.
    const parse = pg.types.getTypeParser(oid) as (text: string) => unknown;
    return (text: string) => {
      const moment = parse(text);
      return moment instanceof Date ? moment.toISOString() : text;
    };
  }
  return pg.types.getTypeParser(oid, format) as (text: string) => unknown;
};

/** What libpq does in each of these modes. */
function tlsOptions({ sslMode, sslRootCert }: PostgresUrl): false | TlsChecks {
  if (sslMode === 'disable') return false;
  return {
    ...(sslRootCert === undefined ? {} : { ca: readCertificates(sslRootCert) }),
    // With certificates to trust, libpq checks for them in this mode too.
    rejectUnauthorized: sslMode !== 'require' || sslRootCert !== undefined,
    ...(sslMode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  };
}

function readCertificates(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new DatabaseStartError('The file that sslrootcert names cannot be read', { cause });
  }
}
