import { DataSource } from 'typeorm';
import type { SqliteConnection } from '../../src/platform/database/sqlite/sqlite-connection.js';
import type { SqliteDataSource } from '../../src/platform/database/sqlite/sqlite-data-source.js';
import type { TestApp } from './test-app.js';

/** Returns the connection with which an application on SQLite commits batches of rows. */
export function commitConnection(app: TestApp): SqliteConnection {
  return app.nest.get<SqliteDataSource>(DataSource).driver.connections.commits;
}
