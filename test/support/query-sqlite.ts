import { DataSource } from 'typeorm';

/** Executes a statement on a SQLite file, as another program may do. */
export async function querySqlite(database: string, sql: string): Promise<unknown> {
  const dataSource = new DataSource({ type: 'sqlite', database });
  await dataSource.initialize();
  try {
    return await dataSource.query(sql);
  } finally {
    await dataSource.destroy();
  }
}
