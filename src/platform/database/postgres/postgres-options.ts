import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { DataSourceOptions } from 'typeorm';
import type { PostgresUrl } from '../../config/database-url.js';
import { DatabaseStartError } from '../data-source/store-data-source.js';
import { setUpConnection } from './postgres-data-source.js';
import { CONNECT_TIMEOUT_MS } from './time-limits.js';

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
      onConnect: setUpConnection,
      keepAlive: true,
      // Quiet minutes must not cost the next create a connect; now and then all move to another
      // server behind the same name.
      idleTimeoutMillis: 0,
      maxLifetimeSeconds: 1_800,
    },
  };
}

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
