import type { BatchOperation } from './batch-queue.js';
import type { RawRow } from './entity-columns.js';
import { listValues, type Page } from './page-conditions.js';
import type { Session } from './session.js';
import type { TableSql } from './sql-builder.js';

/** A piece ends with the row that brings its text to this many bytes. */
export const PIECE_BYTES = 256 * 1024;
/** The most rows of one piece. */
const PIECE_ROWS = 4_096;

/** A page as JSON. */
export interface PageText {
  /** The rows as a JSON array; undefined if they are too long to be in memory at once. */
  readonly text: string | undefined;
  /** The sort values of the last row, if others follow; undefined also if fewer rows are left. */
  readonly last: readonly string[] | undefined;
  readonly hasMore: boolean;
}

/** Some rows of a long page, as JSON. */
export interface Piece {
  /** The rows, with the separator between them. */
  readonly text: string;
  readonly rows: number;
  /** The sort values of the last row; undefined if there is none. */
  readonly last: readonly string[] | undefined;
}

/** A request for a piece: rows of a page, with this separator between them. */
export interface PieceRequest {
  readonly page: Page;
  readonly separator: ',' | '\n';
}

/** Reads the rows of a table as JSON, by an engine's own means. */
export interface PageReader {
  /** Reads pages together, and returns them in their order. */
  readPages(session: Session, pages: readonly Page[]): Promise<PageText[]>;

  /** Reads the first rows of a page, up to {@link PIECE_BYTES}. */
  readPiece(session: Session, request: PieceRequest): Promise<Piece>;
}

/** Reads rows by their keys. */
export class FindRows implements BatchOperation<string, RawRow | undefined> {
  readonly name = 'find';

  constructor(private readonly sql: TableSql) {}

  async execute(session: Session, keys: readonly string[]): Promise<(RawRow | undefined)[]> {
    const { sql } = this;
    const found = new Map<string, RawRow>();
    const parameters = sql.encodeKeys([...new Set(keys)]);
    for (const row of await session.query<RawRow>(sql.find, parameters)) {
      found.set(sql.columns.getRawKey(row), row);
    }
    return keys.map((key) => found.get(key));
  }
}

/** Reads pages as JSON. */
export class ReadPages implements BatchOperation<Page, PageText> {
  readonly name = 'page';

  constructor(private readonly reader: PageReader) {}

  execute(session: Session, pages: readonly Page[]): Promise<PageText[]> {
    return this.reader.readPages(session, pages);
  }
}

/** Reads long pages piece by piece. */
export class ReadPieces implements BatchOperation<PieceRequest, Piece> {
  readonly name = 'piece';

  constructor(private readonly reader: PageReader) {}

  async execute(session: Session, requests: readonly PieceRequest[]): Promise<Piece[]> {
    const pieces: Piece[] = [];
    for (const { page, separator } of requests) {
      const limit = Math.min(page.limit, PIECE_ROWS);
      pieces.push(await this.reader.readPiece(session, { page: { ...page, limit }, separator }));
    }
    return pieces;
  }
}

/** The rows of a page, each with its sort values. */
export type SortedRows = readonly { readonly raw: RawRow; readonly sortedBy: readonly string[] }[];

/** Reads pages as rows. */
export class ReadRows implements BatchOperation<Page, SortedRows> {
  readonly name = 'rows';

  constructor(private readonly sql: TableSql) {}

  async execute(session: Session, pages: readonly Page[]): Promise<SortedRows[]> {
    const results: SortedRows[] = [];
    for (const page of pages) {
      const statement = this.sql.rows(page);
      const rows = await session.query<RawRow>(statement, [page.limit, ...listValues(page)]);
      results.push(rows.map((raw) => ({ raw, sortedBy: readSortTexts(raw, page) })));
    }
    return results;
  }
}

/** Returns the sort values of a row, which statements select as `page_sort0`, `page_sort1`, ... */
export function readSortTexts(raw: RawRow, { order }: Page): string[] {
  return order.map((_, index) => raw[`page_sort${index}`] as string);
}
