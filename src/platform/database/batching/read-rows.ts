import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { BatchOperation } from './batch-queue.js';
import type { RawRow } from './entity-columns.js';
import { describeShape, listValues, type Page } from './pages.js';
import type { Session } from './session.js';
import type { JsonFormat, TableSql } from './sql-builder.js';

/** An export is read and sent in pieces of about this many bytes. */
export const PIECE_BYTES = 256 * 1024;
/** A page ends before its JSON exceeds this many bytes. */
export const PAGE_BYTES = 1024 * 1024;

/** The most rows of a piece. */
export const PIECE_ROWS = 4_096;

export const ARRAY: JsonFormat = { name: 'page', separator: ',', maxBytes: PAGE_BYTES };
export const LINES: JsonFormat = { name: 'piece', separator: '\n', maxBytes: PIECE_BYTES };

/** A request for the rows of a page as JSON. */
export interface JsonRequest {
  readonly page: Page;
  readonly format: JsonFormat;
}

/** The rows of a page as JSON. */
export interface PageText {
  /** The rows with the separator between them; undefined if they are too long. */
  readonly text: string | undefined;
  /** The sort values of the last row; undefined if no row follows it. */
  readonly last: readonly string[] | undefined;
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

/** A request for the bytes of one column in the row with a key. */
export interface BytesRequest {
  readonly key: string;
  readonly column: ColumnMetadata;
}

/** Reads bytes, each in a statement of its own. */
export class ReadBytes implements BatchOperation<BytesRequest, Buffer | null | undefined> {
  readonly name = 'bytes';

  constructor(private readonly sql: TableSql) {}

  async execute(
    session: Session,
    requests: readonly BytesRequest[],
  ): Promise<(Buffer | null | undefined)[]> {
    const results: (Buffer | null | undefined)[] = [];
    for (const { key, column } of requests) {
      const [row] = await session.query<{ bytes: Buffer | null }>(
        this.sql.readBytes(column),
        this.sql.encodeKeys([key]),
      );
      results.push(row?.bytes);
    }
    return results;
  }
}

/** Reads pages as JSON that the engine writes. Pages of the same shape and limit share a statement. */
export class ReadPages implements BatchOperation<JsonRequest, PageText> {
  readonly name = 'page';

  constructor(private readonly sql: TableSql) {}

  getName({ format }: JsonRequest): string {
    return format.name;
  }

  async execute(session: Session, requests: readonly JsonRequest[]): Promise<PageText[]> {
    const groups = new Map<string, JsonRequest[]>();
    for (const request of requests) {
      const { page, format } = request;
      const group = `${format.name} ${page.limit} ${describeShape(page)}`;
      groups.set(group, [...(groups.get(group) ?? []), request]);
    }
    const read = new Map<JsonRequest, PageText>();
    for (const group of groups.values()) {
      const texts = await this.read(session, group);
      group.forEach((request, index) => read.set(request, texts[index] ?? NOTHING));
    }
    return requests.map((request) => read.get(request) ?? NOTHING);
  }

  private async read(session: Session, [first, ...others]: JsonRequest[]): Promise<PageText[]> {
    if (first === undefined) return [];
    const values = [first, ...others].map(({ page }) => listValues(page));
    const rows = await session.query<{ text: string | null; ends: string | null }>(
      this.sql.json(first.page, first.format),
      [first.page.limit, ...this.sql.dialect.encodePages(values)],
    );
    return rows.map(({ text, ends }) => {
      const [last, next] = JSON.parse(ends ?? '[]') as string[][];
      return { text: text ?? undefined, last: next && last };
    });
  }
}

const NOTHING: PageText = { text: '', last: undefined };

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
      results.push(
        rows.map((raw) => ({
          raw,
          sortedBy: page.order.map((_, index) => raw[`page_sort${index}`] as string),
        })),
      );
    }
    return results;
  }
}
