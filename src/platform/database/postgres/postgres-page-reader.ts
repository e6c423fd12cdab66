import { Decimal } from '../../json/decimal.js';
import type { RawRow } from '../batching/entity-columns.js';
import type { JsonMember } from '../batching/row-json.js';
import { listValues, type Page } from '../batching/page-conditions.js';
import {
  type PageReader,
  type PageText,
  type Piece,
  PIECE_BYTES,
  type PieceRequest,
  readSortTexts,
} from '../batching/read-rows.js';
import type { Session, Statement } from '../batching/session.js';
import type { TableSql } from '../batching/sql-builder.js';

/** Reads rows and writes them as JSON in the program, since the server takes twice as long. */
export class PostgresPageReader implements PageReader {
  constructor(
    private readonly sql: TableSql,
    private readonly members: readonly JsonMember[],
  ) {}

  async readPages(session: Session, pages: readonly Page[]): Promise<PageText[]> {
    const read: PageText[] = [];
    for (const page of pages) read.push(await this.readPage(session, page));
    return read;
  }

  async readPiece(session: Session, { page, separator }: PieceRequest): Promise<Piece> {
    const { rows } = await this.readRows(session, page, page.limit);
    const last = rows.at(-1);
    return {
      text: rows.map((row) => this.write(row)).join(separator),
      rows: rows.length,
      last: last && readSortTexts(last, page),
    };
  }

  private async readPage(session: Session, page: Page): Promise<PageText> {
    const { rows, count } = await this.readRows(session, page, page.limit + 1);
    if (rows.length < count) return await this.measure(session, page);
    const hasMore = rows.length > page.limit;
    const shown = hasMore ? rows.slice(0, page.limit) : rows;
    const last = shown.at(-1);
    return {
      text: `[${shown.map((row) => this.write(row)).join()}]`,
      last: hasMore && last !== undefined ? readSortTexts(last, page) : undefined,
      hasMore,
    };
  }

  /** Reads only the end of a page that is too long to be in memory at once. */
  private async measure(session: Session, page: Page): Promise<PageText> {
    const [end, next] = await session.query<RawRow>(this.getEndStatement(page), [
      page.limit,
      ...listValues(page),
    ]);
    return {
      text: undefined,
      last: end && readSortTexts(end, page),
      hasMore: next !== undefined,
    };
  }

  /** Reads the first rows up to {@link PIECE_BYTES}, and the number of all rows. */
  private async readRows(
    session: Session,
    page: Page,
    limit: number,
  ): Promise<{ rows: RawRow[]; count: number }> {
    const rows = await session.query<RawRow>(this.getRowsStatement(page), [
      limit,
      ...listValues(page),
    ]);
    return { rows, count: Number(rows[0]?.page_rows ?? 0) };
  }

  /** The parameters are the limit and the values of the page. */
  private getRowsStatement(page: Page): Statement {
    return this.sql.shaped('json', page, () => {
      const { sql } = this;
      const { columns } = sql;
      const texts = this.members.filter(({ kind }) => kind === 'string' || kind === 'json');
      const bytes = texts.map(
        ({ column }) => `coalesce(octet_length(${columns.quoteColumn(column)}::text), 0)`,
      );
      const sorts = sql.sortTexts(page).map((text, index) => `${text} AS page_sort${index}`);
      const selected = [
        ...this.members.map(({ column }) => columns.quoteColumn(column)),
        ...sorts,
        `${bytes.join(' + ') || '0'} AS page_bytes`,
      ];
      const select = sql.selectPage(selected.join(', '), page, (index) => `$${index + 2}`);
      // The server knows the length of a long text without reading it.
      return `
        SELECT * FROM (
          SELECT *, count(*) OVER () AS page_rows,
            sum(page_bytes) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - page_bytes AS page_before
          FROM (${select} LIMIT $1) AS found) AS measured
        WHERE page_before < ${PIECE_BYTES}`;
    });
  }

  /**
   * Reads the last row of a page, and the one after it. The parameters are the limit and the values
   * of the page.
   */
  private getEndStatement(page: Page): Statement {
    return this.sql.shaped('end', page, () => {
      const { sql } = this;
      const sorts = sql.sortTexts(page).map((text, index) => `${text} AS page_sort${index}`);
      const select = sql.selectPage(sorts.join(', '), page, (index) => `$${index + 2}`);
      return `${select} LIMIT 2 OFFSET $1 - 1`;
    });
  }

  /** Writes a row as a JSON object, without members that are NULL. */
  private write(row: RawRow): string {
    let text = '';
    for (const { name, column, kind } of this.members) {
      const value = row[column.databaseName];
      if (value !== null && value !== undefined) text += `,${name}:${writeValue(value, kind)}`;
    }
    return `{${text.slice(1)}}`;
  }
}

function writeValue(value: unknown, kind: JsonMember['kind']): string {
  if (kind === 'string') return JSON.stringify(value);
  if (typeof kind === 'object') return new Decimal(BigInt(value as string), kind.scale).toString();
  return String(value);
}
