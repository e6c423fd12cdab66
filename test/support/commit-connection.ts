import { DataSource } from 'typeorm';
import type { SqliteConnection } from '../../src/platform/database/sqlite/sqlite-connection.js';
import type { SqliteDataSource } from '../../src/platform/database/sqlite/sqlite-data-source.js';
import type { TestApp } from './test-app.js';

/** The connection of an application on SQLite that commits rows in groups. */
export function commitConnection(app: TestApp): SqliteConnection {
  return app.nest.get<SqliteDataSource>(DataSource).driver.connections.commits;
}
