import sqlite3 from 'sqlite3';
import type { DataSourceOptions } from 'typeorm';
import { Plant } from '../plants/plant.entity.js';
import { parseDatabaseUrl } from './database-url.js';
import { CreatePlants1763000000000 } from './migrations/1763000000000-create-plants.js';

/** How long a statement waits for a lock that another process holds, in milliseconds. */
const BUSY_TIMEOUT = 2_000;

/** The options of the data source: the one place that lists the entities and the migrations. */
export function dataSourceOptions(databaseUrl: string): DataSourceOptions {
  const url = parseDatabaseUrl(databaseUrl);
  if (url === undefined) throw new TypeError('not a database URL');
  return {
    type: 'sqlite',
    database: url.path,
    driver: quietSqlite3(),
    enableWAL: true,
    busyTimeout: BUSY_TIMEOUT,
    entities: [Plant],
    migrations: [CreatePlants1763000000000],
    migrationsTransactionMode: 'each',
  };
}

/** TypeORM turns on the driver's verbose mode, which captures a stack trace at every call. */
function quietSqlite3(): typeof sqlite3 {
  return Object.assign(Object.create(sqlite3) as typeof sqlite3, { verbose: () => sqlite3 });
}
