import { createDataSourceOptions } from '../../src/platform/database/data-source/data-source-options.js';
import { createDataSource } from '../../src/platform/database/data-source/open-database.js';
import { schema } from '../../src/schema.js';

const PAGE = 'SELECT CAST(id AS TEXT) AS id, name, tag FROM plants ORDER BY plants.id';
const PAGE_SIZE = 10_000;

interface Row {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

/** Calls a function with every row of the store, and resolves with their number. */
export async function forEachRow(url: string, look: (row: Row) => void): Promise<number> {
  const dataSource = createDataSource(
    createDataSourceOptions({ DATABASE_URL: url, DATABASE_POOL_SIZE: 1 }, schema),
  );
  await dataSource.initialize();
  try {
    let count = 0;
    let rows = await dataSource.query<Row[]>(`${PAGE} LIMIT ${PAGE_SIZE}`);
    while (rows.length > 0) {
      rows.forEach(look);
      count += rows.length;
      const sql = `${PAGE.replace('ORDER', 'WHERE id > $1 ORDER')} LIMIT ${PAGE_SIZE}`;
      rows = await dataSource.query<Row[]>(sql, [rows.at(-1)?.id]);
    }
    return count;
  } finally {
    await dataSource.destroy();
  }
}
