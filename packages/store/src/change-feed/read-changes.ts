import type { ChangeLog, Session, Statement } from '../engine/engine.js';
import { JsonText } from '../json/json-text.js';
import type { JsonPage } from '../repositories/page-reader.js';
import { type BatchOperation, Failure, Rejection } from '../batching/batch-queue.js';
import { PIECE_BYTES } from '../batching/read-rows.js';
import { ChangesGoneError, StoreOverloadedError } from '../errors/store.errors.js';

/**
 * Stands for the cursor of the newest change.
 *
 * @example
 * ```ts
 * const { next } = await feed.read(LATEST, 0);
 * ```
 */
export const LATEST = 'latest';

/**
 * The form of a cursor of the feed: the number and the nonce of a row of `changes`.
 *
 * @example
 * ```ts
 * CURSOR.test('1001.0123456789ab'); // true
 * ```
 */
export const CURSOR = /^(0|[1-9]\d{0,14})\.([\da-f]{12})$/;

/** A request for the changes after a cursor, by default from the oldest change that is kept. */
export interface ChangeQuery {
  readonly after: string | undefined;
  readonly limit: number;
}

/**
 * Changes, oldest first. `next` is the cursor of the last one; if there is none, the cursor of the
 * request.
 */
export type ChangePage = JsonPage & { readonly next: string };

/** A row of `changes`. Drivers return 64-bit numbers as text. */
interface ChangeRow {
  readonly number: number | string;
  readonly nonce: string;
  readonly at: string;
  readonly type: string;
  /** The key of the row, as JSON. */
  readonly id: string;
  /** The row, as JSON; null for a removed row. */
  readonly data: string | null;
}

/**
 * Reads from the row of the cursor on, which counts as short. The sizes alone say where the page
 * ends, and the engines know them without reading the rows. Every engine takes `$1` for the first
 * parameter.
 */
function readPageOf(table: string): Statement {
  return {
    name: 'read changes',
    text: `
    SELECT number, nonce, at, type, id, CASE WHEN number > $1 THEN data END AS data
    FROM ${table} WHERE number >= $1 AND number <= (
      SELECT max(number) FROM (
        SELECT number, sum(bytes) OVER (ORDER BY number) - bytes AS before
        FROM (
          SELECT number, CASE WHEN number > $1 THEN coalesce(octet_length(data), 0) ELSE 0 END AS bytes
          FROM ${table} WHERE number >= $1 AND number <= $2 ORDER BY number LIMIT $3) AS found) AS measured
      WHERE before < ${PIECE_BYTES})
    ORDER BY number`,
  };
}

const GONE = new Rejection(new ChangesGoneError());
/** Another program has switched the feed off. */
const IS_OFF = new Failure(new StoreOverloadedError());

/** Makes the operation that reads pages of the feed. */
export function readChanges({ settle, table }: ChangeLog): BatchOperation<ChangeQuery, ChangePage> {
  const statement = readPageOf(table);
  return {
    name: 'page',
    /** All statements go to one server. After a failover another one may have other changes. */
    async execute(session, queries) {
      const [row] = await session.query<{ settled: number | string }>(settle, []);
      const settled = Number(row?.settled ?? 0);
      // Many requests that have waited read the same page.
      const pages = new Map<string, ChangePage | Failure>();
      for (const query of queries) {
        const key = JSON.stringify(query);
        if (!pages.has(key)) pages.set(key, await readPage(session, statement, query, settled));
      }
      return queries.map((query) => pages.get(JSON.stringify(query)) ?? IS_OFF);
    },
  };
}

async function readPage(
  session: Session,
  statement: Statement,
  { after, limit }: ChangeQuery,
  settled: number,
): Promise<ChangePage | Failure> {
  const [, number = 0, nonce] = CURSOR.exec(after ?? '') ?? [];
  const start = after === LATEST ? settled : Number(number);
  const end = Math.max(start, settled);
  const rows = await session.query<ChangeRow>(statement, [start, end, limit + 1]);
  const own = rows.find(({ number }) => Number(number) === start);
  if (nonce !== undefined && nonce !== own?.nonce) return GONE;
  const changes = rows.filter((row) => row !== own).slice(0, limit);
  const last = changes.at(-1) ?? own;
  if (last === undefined) return IS_OFF;
  const json = new JsonText(`[${changes.map(writeChange).join()}]`);
  return { json, next: writeCursor(last) };
}

function writeChange(row: ChangeRow): string {
  const { at, type, id, data } = row;
  const member = data === null ? '' : `,"data":${data}`;
  return `{"cursor":"${writeCursor(row)}","type":"${type}","id":${id},"at":"${at}"${member}}`;
}

function writeCursor({ number, nonce }: ChangeRow): string {
  return `${number}.${nonce}`;
}

/** The number in a cursor; 0 without a cursor, for the beginning of the feed. */
export function parseNumber(cursor = '0'): number {
  return Number.parseInt(cursor, 10);
}
