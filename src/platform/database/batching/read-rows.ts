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

/** The most rows of a piece or of a page. */
export const PIECE_ROWS = 4_096;

export const ARRAY: JsonFormat = { name: 'page', separator: ',', maxBytes: PAGE_BYTES };
export const LINES: JsonFormat = { name: 'piece', separator: '\n', maxBytes: PIECE_BYTES };

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

/** Reads rows by their keys, all in one statement. */
export function findRows(sql: TableSql): BatchOperation<string, RawRow | undefined> {
  return {
    name: 'find',
    async execute(session, keys) {
      const found = new Map<string, RawRow>();
      const parameters = sql.encodeKeys([...new Set(keys)]);
      for (const row of await session.query<RawRow>(sql.find, parameters)) {
        found.set(sql.columns.getRawKey(row), row);
      }
      return keys.map((key) => found.get(key));
    },
  };
}

/** Makes an operation that reads each of its items by a statement of its own. */
function readEach<Item, Outcome>(
  name: string,
  read: (session: Session, item: Item) => Promise<Outcome>,
): BatchOperation<Item, Outcome> {
  return {
    name,
    async execute(session, items) {
      const outcomes: Outcome[] = [];
      for (const item of items) outcomes.push(await read(session, item));
      return outcomes;
    },
  };
}

/** A request for the bytes of one column in the row with a key. */
export interface BytesRequest {
  readonly key: string;
  readonly column: ColumnMetadata;
}

/** The bytes of a row; undefined if there is no row. */
export type Bytes = Buffer | null | undefined;

export function readBytes(sql: TableSql): BatchOperation<BytesRequest, Bytes> {
  return readEach('bytes', async (session, { key, column }) => {
    const statement = sql.readBytes(column);
    const [row] = await session.query<{ bytes: Bytes }>(statement, sql.encodeKeys([key]));
    return row?.bytes;
  });
}

/** Reads pages as rows, with their sort values as `page_sort0` and so on. */
export function readRows(sql: TableSql): BatchOperation<Page, RawRow[]> {
  return readEach('rows', (session, page) =>
    session.query<RawRow>(sql.rows(page), [page.limit, ...listValues(page)]),
  );
}

/** Reads pages as JSON that the engine writes. Pages of the same shape and limit share a statement. */
export function readPages(sql: TableSql): BatchOperation<JsonRequest, PageText> {
  return {
    name: 'page',
    getName: ({ format }) => format.name,
    async execute(session, requests) {
      const groups = new Map<string, JsonRequest[]>();
      for (const request of requests) {
        const { page, format } = request;
        const shape = `${format.name} ${page.limit} ${describeShape(page)}`;
        groups.set(shape, [...(groups.get(shape) ?? []), request]);
      }
      const texts = new Map<JsonRequest, PageText>();
      for (const group of groups.values()) {
        for (const [place, text] of (await readGroup(session, sql, group)).entries()) {
          texts.set(group[place] as JsonRequest, text);
        }
      }
      return requests.map((request) => texts.get(request) as PageText);
    },
  };
}

async function readGroup(
  session: Session,
  sql: TableSql,
  requests: readonly JsonRequest[],
): Promise<PageText[]> {
  const [first] = requests;
  if (first === undefined) return [];
  const rows = await session.query<{ text: string | null; ends: string | null }>(
    sql.json(first.page, first.format),
    sql.encodePages(requests.map(({ page }) => page)),
  );
  return rows.map(({ text, ends }) => {
    const [last, next] = JSON.parse(ends ?? '[]') as string[][];
    return { text: text ?? undefined, last: next && last };
  });
}
