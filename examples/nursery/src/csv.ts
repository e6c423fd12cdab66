import type { BatchedRepository } from 'durable-rest';
import type { ObjectLiteral } from 'typeorm';

const ROWS_AT_ONCE = 500;

/** Writes all rows as CSV (RFC 4180), in the order of their keys. No value needs quotes. */
export async function* writeCsv<Row extends ObjectLiteral>(
  rows: BatchedRepository<Row>,
  columns: readonly (keyof Row & string)[],
): AsyncGenerator<string> {
  yield `${columns.join()}\r\n`;
  let after: string | undefined;
  do {
    const page = await rows.list({ limit: ROWS_AT_ONCE, after });
    for (const row of page.rows) yield `${columns.map((column) => String(row[column])).join()}\r\n`;
    after = page.next;
  } while (after !== undefined);
}
