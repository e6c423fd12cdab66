import type { Statement } from '../engine/engine.js';
import type { BatchOperation } from './batch-queue.js';
import type { RawRow } from '../entities/entity-columns.js';
import type { JsonFormat, JsonRequest, TableSql } from './sql-builder.js';

/** An export is read and sent in pieces of about this many bytes. */
export const PIECE_BYTES = 256 * 1024;
/** A page ends before its JSON exceeds this many bytes. */
export const PAGE_BYTES = 1024 * 1024;

export const ARRAY: JsonFormat = { name: 'page', separator: ',', maxBytes: PAGE_BYTES };
export const LINES: JsonFormat = { name: 'piece', separator: '\n', maxBytes: PIECE_BYTES };

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
      const parameters = sql.encodeKeys([...new Set(keys)]);
      const found = sql.columns.mapByKey(await session.query<RawRow>(sql.find, parameters));
      return keys.map((key) => found.get(key));
    },
  };
}

/** A statement of its own, and the name of its operation in the metrics. */
export interface Query {
  readonly name: 'bytes' | 'rows';
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
}

export const executeQueries: BatchOperation<Query, RawRow[]> = {
  name: 'rows',
  getName: ({ name }) => name,
  execute: (session, queries) =>
    Promise.all(queries.map((query) => session.query<RawRow>(query.statement, query.parameters))),
};

/** Reads pages as JSON that the engine writes. Pages of the same shape and limit share a statement. */
export function readPages(sql: TableSql): BatchOperation<JsonRequest, PageText> {
  return {
    name: 'page',
    getName: ({ format }) => format.name,
    async execute(session, requests) {
      const groups = new Map<string, { statement: Statement; members: JsonRequest[] }>();
      for (const request of requests) {
        const statement = sql.json(request);
        const name = `${request.page.limit} ${statement.name}`;
        const group = groups.get(name);
        if (group === undefined) groups.set(name, { statement, members: [request] });
        else group.members.push(request);
      }
      const texts = new Map<JsonRequest, PageText>();
      for (const { statement, members } of groups.values()) {
        const parameters = sql.encodePages(members);
        const rows = await session.query<JsonRow>(statement, parameters);
        for (const [place, request] of members.entries()) {
          const { text, ends } = rows[place] as JsonRow;
          const [last, next] = JSON.parse(ends ?? '[]') as string[][];
          texts.set(request, { text: text ?? undefined, last: next && last });
        }
      }
      return requests.map((request) => texts.get(request) as PageText);
    },
  };
}

/** A page as an engine returns it. */
interface JsonRow {
  readonly text: string | null;
  /** The sort values of the last row, and of the row after it; null if there are none. */
  readonly ends: string | null;
}
