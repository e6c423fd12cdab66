import type { JsonFormat, Statement } from '../engine/engine.js';
import type { BatchOperation } from './batch-queue.js';
import type { RawRow } from '../entities/entity-columns.js';
import type { PageStatement } from './page-statements.js';
import type { Page } from './pages.js';
import type { TableSql } from './sql-builder.js';

/** An export is read and sent in pieces of about this many bytes. */
export const PIECE_BYTES = 256 * 1024;
/** A page ends before its JSON exceeds this many bytes. */
export const PAGE_BYTES = 1024 * 1024;

export const ARRAY: JsonFormat = { name: 'page', separator: ',', maxBytes: PAGE_BYTES };
export const LINES: JsonFormat = { name: 'piece', separator: '\n', maxBytes: PIECE_BYTES };

/** Reads rows by their keys, all in one statement. */
export function findRows(sql: TableSql): BatchOperation<string, RawRow | undefined> {
  return {
    name: 'find',
    async execute(session, keys) {
      const parameters = sql.encodeKeys([...new Set(keys)]);
      const found = sql.columns.mapByKey(await session.query<RawRow>(sql.find, parameters));
      return keys.map((key) => found.get(key));
    },
  };
}

/** A statement of its own, and the name of its operation in the metrics. */
export interface Query {
  readonly operation: 'bytes' | PageStatement['operation'];
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
}

export const executeQueries: BatchOperation<Query, RawRow[]> = {
  name: 'page',
  getName: ({ operation }) => operation,
  execute: (session, queries) =>
    Promise.all(queries.map((query) => session.query<RawRow>(query.statement, query.parameters))),
};

/** A page to read by a statement that may read others with it. */
export interface PageRequest {
  readonly statement: PageStatement;
  readonly page: Page;
}

/** Reads pages. Those of the same statement and limit are read together. */
export const readPages: BatchOperation<PageRequest, RawRow> = {
  name: 'page',
  getName: ({ statement }) => statement.operation,
  async execute(session, requests) {
    const groups = new Map<string, { statement: PageStatement; members: PageRequest[] }>();
    for (const request of requests) {
      const { statement, page } = request;
      const name = `${page.limit} ${statement.name}`;
      const group = groups.get(name);
      if (group === undefined) groups.set(name, { statement, members: [request] });
      else group.members.push(request);
    }
    const rows = new Map<PageRequest, RawRow | undefined>();
    for (const { statement, members } of groups.values()) {
      const parameters = statement.bind(members.map(({ page }) => page));
      const found = await session.query<RawRow>(statement, parameters);
      for (const [place, request] of members.entries()) rows.set(request, found[place]);
    }
    return requests.map((request) => rows.get(request) as RawRow);
  },
};

/** The rows of a page as JSON. */
export interface PageText {
  /** The rows with the separator between them; undefined if they are too long. */
  readonly text: string | undefined;
  /** The sort values of the last row; undefined if no row follows it. */
  readonly last: readonly string[] | undefined;
}

/** Reads the row that {@link SqlDialect.selectJson} makes of a page. */
export function readPageText(row: RawRow): PageText {
  const { text, ends } = row as unknown as { text: string | null; ends: string | null };
  const [last, next] = JSON.parse(ends ?? '[]') as string[][];
  return { text: text ?? undefined, last: next && last };
}
