import type { BatchOperation } from './batch-queue.js';
import type { RawRow } from './entity-columns.js';
import type { Session } from './session.js';
import type { TableSql } from './table-sql.js';

/** Reads rows by their keys. */
export class FindRows implements BatchOperation<string, RawRow | undefined> {
  readonly name = 'find';

  constructor(private readonly sql: TableSql) {}

  measure(): number {
    return 0;
  }

  async execute(session: Session, keys: readonly string[]): Promise<(RawRow | undefined)[]> {
    const { sql } = this;
    const found = new Map<string, RawRow>();
    const parameters = sql.encodeKeys([...new Set(keys)]);
    for (const row of await session.query<RawRow>(sql.find, parameters)) {
      found.set(sql.columns.rawKey(row), row);
    }
    return keys.map((key) => found.get(key));
  }
}
