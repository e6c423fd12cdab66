import type { BatchOperation } from './batch-queue.js';
import type { RawRow } from './entity-columns.js';
import { listValues, type Page } from './page.js';
import type { Session } from './session.js';
import type { TableSql } from './sql-builder.js';

/** How many bytes of text the rows of one piece have, before the last of them. */
export const PIECE_BYTES = 256 * 1024;
/** How many rows one piece has at most. */
const PIECE_ROWS = 4_096;

/** A page as JSON. */
export interface PageText {
  /** The rows as a JSON array; undefined where they are too long to be in memory at once. */
  readonly text: string | undefined;
  /** What the last row is sorted by, where others follow or the text is too long. */
  readonly last: readonly string[] | undefined;
  readonly hasMore: boolean;
}

/** Some rows of a long page, as JSON. */
export interface Piece {
  /** The rows, with the separator between them. */
  readonly text: string;
  readonly rows: number;
  /** What the last row is sorted by; undefined where there is none. */
  readonly last: readonly string[] | undefined;
}

/** A piece to read: rows of a page, with this text between them. */
export interface PieceRequest {
  readonly page: Page;
  readonly separator: ',' | '\n';
}

/** How an engine makes JSON of the rows of a table. */
export interface JsonReader {
  /** Reads pages at once, in their order. */
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
      found.set(sql.columns.rawKey(row), row);
    }
    return keys.map((key) => found.get(key));
  }
}

/** Reads pages as JSON. */
export class ReadPages implements BatchOperation<Page, PageText> {
  readonly name = 'page';

  constructor(private readonly reader: JsonReader) {}

  execute(session: Session, pages: readonly Page[]): Promise<PageText[]> {
    return this.reader.readPages(session, pages);
  }
}

/** Reads long pages piece by piece. */
export class ReadPieces implements BatchOperation<PieceRequest, Piece> {
  readonly name = 'piece';

  constructor(private readonly reader: JsonReader) {}

  async execute(session: Session, requests: readonly PieceRequest[]): Promise<Piece[]> {
    const pieces: Piece[] = [];
    for (const { page, separator } of requests) {
      const limit = Math.min(page.limit, PIECE_ROWS);
      pieces.push(await this.reader.readPiece(session, { page: { ...page, limit }, separator }));
    }
    return pieces;
  }
}

/** The rows of a page, and what each is sorted by. */
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

/** What a row is sorted by, which a statement gives as `page_sort0`, `page_sort1`, ... */
export function readSortTexts(raw: RawRow, { order }: Page): string[] {
  return order.map((_, index) => raw[`page_sort${index}`] as string);
}
