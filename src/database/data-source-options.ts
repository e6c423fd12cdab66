import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import sqlite3 from 'sqlite3';
import type { DataSourceOptions } from 'typeorm';
import type { Env } from '../config/env.js';
import { Plant } from '../plants/plant.entity.js';
import { parseDatabaseUrl, type PostgresUrl, type SqliteUrl } from './database-url.js';
import { CreatePlants1763000000000 } from './migrations/1763000000000-create-plants.js';
import { setUpConnection } from './postgres-data-source.js';
import { DatabaseStartError } from './store-data-source.js';
import { BUSY_TIMEOUT, CONNECT_TIMEOUT } from './time-limits.js';

type TlsChecks = Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized' | 'checkServerIdentity'>;
type DatabaseEnv = Pick<Env, 'DATABASE_URL' | 'DATABASE_POOL_SIZE'>;

/** The options of the data source: the one place that lists the entities and the migrations. */
export function dataSourceOptions({
  DATABASE_URL,
  DATABASE_POOL_SIZE,
}: DatabaseEnv): DataSourceOptions {
  const url = parseDatabaseUrl(DATABASE_URL);
  if (url === undefined) throw new TypeError('not a database URL');
  return {
    ...(url.type === 'sqlite' ? sqliteOptions(url) : postgresOptions(url, DATABASE_POOL_SIZE)),
    entities: [Plant],
    migrations: [CreatePlants1763000000000],
    migrationsTransactionMode: 'each',
  };
}

function sqliteOptions({ path }: SqliteUrl): DataSourceOptions {
  return {
    type: 'sqlite',
    database: path,
    driver: quietSqlite3(),
    enableWAL: true,
    busyTimeout: BUSY_TIMEOUT,
  };
}

/** TypeORM turns on the driver's verbose mode, which captures a stack trace at every call. */
function quietSqlite3(): typeof sqlite3 {
  return Object.assign(Object.create(sqlite3) as typeof sqlite3, { verbose: () => sqlite3 });
}

function postgresOptions(url: PostgresUrl, poolSize: number): DataSourceOptions {
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
    connectTimeoutMS: CONNECT_TIMEOUT,
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
