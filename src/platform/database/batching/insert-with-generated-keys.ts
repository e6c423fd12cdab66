import { ApiError } from '../../errors/api-error.js';
import { MAY_BE_STORED } from '../../errors/error-catalogue.js';
import type { BatchOperation } from './batch-queue.js';
import { countCharacters, type RawRow, type Values } from './entity-columns.js';
import { nameForeignKey } from './compare-rows.js';
import { type FailureClassifier, executeIsolated, type Result } from './isolate-failures.js';
import { atomically, type Session } from './session.js';
import type { TableSql } from './sql-builder.js';

/** Inserts rows under generated keys, and resolves with the rows. */
export class InsertWithGeneratedKeys implements BatchOperation<Values, RawRow> {
  readonly name = 'add';
  readonly refusal = new ApiError(MAY_BE_STORED);

  constructor(
    private readonly sql: TableSql,
    private readonly classifier: FailureClassifier,
  ) {}

  measure(values: Values): number {
    return countCharacters(values);
  }

  execute(session: Session, rows: readonly Values[]): Promise<Result<RawRow>[]> {
    return executeIsolated(
      session,
      rows,
      this.classifier,
      (within, part) => this.add(within, part),
      (failure, within, values) => nameForeignKey(failure, within, this.sql, values),
    );
  }

  private async add(session: Session, given: readonly Values[]): Promise<RawRow[]> {
    const { sql } = this;
    const { columns } = sql;
    return await atomically(session, async (within) => {
      const rows = columns.counter === undefined ? given : await this.drawKeys(within, given);
      await within.query(sql.insertAll, sql.encodeRows(rows));
      const keys = rows.map((values) => columns.getKey(values));
      const stored = new Map<string, RawRow>();
      for (const raw of await within.query<RawRow>(sql.find, sql.encodeKeys(keys))) {
        stored.set(columns.getRawKey(raw), raw);
      }
      return keys.map((key) => stored.get(key) ?? {});
    });
  }

  /** A number that is drawn for a row that fails is not used again. */
  private async drawKeys(session: Session, rows: readonly Values[]): Promise<Values[]> {
    const { columns, dialect } = this.sql;
    const { counter } = columns;
    const numbers = rows.map((_, index) => index + 1);
    const drawn = await session.query<{ number: string }>(this.sql.drawNumbers, [
      JSON.stringify(numbers),
      ...dialect.nameCounter(columns),
    ]);
    const place = columns.inserted.findIndex((column) => column === counter);
    return rows.map((values, index) => values.with(place, drawn[index]?.number));
  }
}
