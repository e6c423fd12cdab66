import { DataSource } from 'typeorm';

/** Runs a statement on a SQLite file, as another program may do. */
export async function querySqlite(
  database: string,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<unknown> {
  const dataSource = new DataSource({ type: 'sqlite', database });
  await dataSource.initialize();
  try {
    return await dataSource.query(sql, [...parameters]);
  } finally {
    await dataSource.destroy();
  }
}
