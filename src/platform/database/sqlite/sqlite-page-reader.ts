import type { EntityColumns } from '../batching/entity-columns.js';
import type { JsonMember } from '../batching/row-json.js';
import { writeObject } from '../batching/row-json.js';
import { describeShape, listValues, type Page } from '../batching/page-conditions.js';
import {
  type PageReader,
  type PageText,
  type Piece,
  PIECE_BYTES,
  type PieceRequest,
} from '../batching/read-rows.js';
import type { Session, Statement } from '../batching/session.js';
import type { TableSql } from '../batching/sql-builder.js';

interface WrittenPage {
  readonly text: string | null;
  /** A JSON array with the sort values of the last row, and of the one after it. */
  readonly end: string;
}

/** Lets SQLite write rows as JSON. Making an object of each in the driver takes twice as long. */
export class SqlitePageReader implements PageReader {
  private readonly json: string;
  private readonly bytes: string;

  constructor(
    private readonly sql: TableSql,
    members: readonly JsonMember[],
  ) {
    this.json = writeObject(sql.columns, members, writeValue);
    this.bytes = countBytes(sql.columns, members);
  }

  /**
   * Pages of the same shape and limit share a statement, since passing one to a thread takes as
   * long as reading a page.
   */
  async readPages(session: Session, pages: readonly Page[]): Promise<PageText[]> {
    const groups = new Map<string, Page[]>();
    for (const page of pages) {
      const group = `${page.limit} ${describeShape(page)}`;
      groups.set(group, [...(groups.get(group) ?? []), page]);
    }
    const read = new Map<Page, PageText>();
    for (const group of groups.values()) {
      const [first] = group;
      if (first === undefined) continue;
      const given = JSON.stringify(group.map((page) => listValues(page)));
      const rows = await session.query<WrittenPage>(this.getPagesStatement(first), [
        first.limit,
        given,
      ]);
      group.forEach((page, index) => {
        const { text, end } = rows[index] ?? { text: '[]', end: '[]' };
        const [last, next] = JSON.parse(end) as string[][];
        read.set(page, { text: text ?? undefined, last, hasMore: next !== undefined });
      });
    }
    return pages.flatMap((page) => read.get(page) ?? []);
  }

  async readPiece(session: Session, { page, separator }: PieceRequest): Promise<Piece> {
    const [piece] = await session.query<{ text: string | null; rows: number; last: string | null }>(
      this.getPieceStatement(page),
      [page.limit, separator, ...listValues(page)],
    );
    return {
      text: piece?.text ?? '',
      rows: piece?.rows ?? 0,
      last: piece?.last ? (JSON.parse(piece.last) as string[]) : undefined,
    };
  }

  /** The parameters are the limit of the pages, and an array with the values of each page. */
  private getPagesStatement(page: Page): Statement {
    return this.sql.shaped('pages', page, () => {
      const read = (selected: string, range: string): string =>
        this.select(selected, page, (index) => `(given.value ->> ${index})`, range);
      return `
        SELECT
          CASE WHEN (SELECT ifnull(sum(bytes), 0) FROM (${read(`${this.bytes} AS bytes`, '?1')}))
              <= ${PIECE_BYTES}
            THEN (SELECT '[' || ifnull(group_concat(json, ','), '') || ']'
              FROM (${read(`${this.json} AS json`, '?1')})) END AS text,
          (SELECT json_group_array(json(row))
            FROM (${read(`${this.sortedBy(page)} AS row`, '2 OFFSET ?1 - 1')})) AS "end"
        FROM json_each(?2) AS given ORDER BY given.key`;
    });
  }

  /** The parameters are the limit, the separator, and the values of the page. */
  private getPieceStatement(page: Page): Statement {
    return this.sql.shaped('piece', page, () => {
      const read = (selected: string, range: string): string =>
        this.select(selected, page, (index) => `?${index + 3}`, range);
      const fitting = `
        SELECT count(*) FROM (
          SELECT sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) - bytes AS before
          FROM (${read(`${this.bytes} AS bytes`, '?1')})) WHERE before < ${PIECE_BYTES}`;
      // With max(), SQLite takes the other columns from the row that has the maximum.
      return `
        SELECT group_concat(json, ?2) AS text, count(*) AS rows, max(place), last
        FROM (SELECT row_number() OVER () AS place, json, last
          FROM (${read(`${this.json} AS json, ${this.sortedBy(page)} AS last`, `(${fitting})`)}))`;
    });
  }

  /** @param range the SQL after LIMIT */
  private select(
    selected: string,
    page: Page,
    value: (index: number) => string,
    range: string,
  ): string {
    return `${this.sql.selectPage(selected, page, value)} LIMIT ${range}`;
  }

  private sortedBy(page: Page): string {
    return `json_array(${this.sql.sortTexts(page).join(', ')})`;
  }
}

/** Writes the SQL that makes JSON of a value. */
export function writeValue(sql: string, kind: JsonMember['kind']): string {
  switch (kind) {
    case 'number':
    case 'json':
      return sql;
    case 'string':
      return `json_quote(${sql})`;
    case 'boolean':
      return `CASE WHEN ${sql} THEN 'true' ELSE 'false' END`;
    default: {
      const { scale } = kind;
      if (scale === 0) return sql;
      const unit = `1${'0'.repeat(scale)}`;
      return `printf('%s%d.%0${scale}d', CASE WHEN ${sql} < 0 THEN '-' ELSE '' END, abs(${sql}) / ${unit}, abs(${sql}) % ${unit})`;
    }
  }
}

/** Writes the SQL for the bytes of the texts in a row, which SQLite knows without reading them. */
function countBytes(columns: EntityColumns, members: readonly JsonMember[]): string {
  const texts = members.filter(({ kind }) => kind === 'string' || kind === 'json');
  const lengths = texts.map(({ column }) => {
    const length = `octet_length(${columns.quoteColumn(column)})`;
    return column.isNullable ? `ifnull(${length}, 0)` : length;
  });
  return lengths.length === 0 ? '0' : lengths.join(' + ');
}
