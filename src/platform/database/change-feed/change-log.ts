import { randomBytes } from 'node:crypto';
import type { DataSource, QueryRunner } from 'typeorm';
import type { BatchOperation } from '../batching/batch-queue.js';
import { EntityColumns } from '../batching/entity-columns.js';
import { PIECE_BYTES } from '../batching/read-rows.js';
import {
  type JsonMember,
  listJsonMembers,
  writeObject,
  type WriteValue,
} from '../batching/row-json.js';
import type { Session, Statement } from '../batching/session.js';
import { getRecordedName } from '../record-changes.decorator.js';

/** The state of the feed at one moment. */
export interface FeedState {
  /** Undefined while the feed is off. */
  readonly epoch: string | undefined;
  /** Changes up to this number have been removed because of their age. */
  readonly removed: number;
  /** The number of the newest committed change; if there is none, that of the last one removed. */
  readonly newest: number;
}

/** How far the feed can be read. */
export interface Progress extends FeedState {
  /** No further change can appear up to this number. */
  readonly settled: number;
}

/** A change as it is stored. */
export interface RecordedChange {
  readonly number: number;
  readonly at: string;
  readonly type: string;
  /** The key of the row, as JSON. */
  readonly id: string;
  /** The row, as JSON; null for a removed row. */
  readonly data: string | null;
}

/** Records changes by an engine's means, in the same commit as the changes. */
export interface ChangeLog {
  /**
   * Starts recording changes, and begins an epoch. Does nothing if changes are being recorded.
   *
   * @throws DatabaseStartError
   */
  switchOn(queryRunner: QueryRunner, tables: readonly RecordedTable[]): Promise<void>;

  /**
   * Stops recording changes.
   *
   * @throws DatabaseStartError when another program needs the feed
   */
  switchOff(queryRunner: QueryRunner): Promise<void>;

  /** Begins an epoch, in a transaction: removes all changes, and makes every cursor invalid. */
  beginEpoch(queryRunner: QueryRunner): Promise<void>;

  /** Reads how far the feed can be read. Calls must not overlap. */
  readProgress(session: Session): Promise<Progress>;

  /** Tells the other programs of the store that there are changes. */
  notify(): void;

  /** @param onNotified is called when another program reports changes */
  listen(onNotified: () => void): void;

  close(): Promise<void>;
}

/** A table whose changes are recorded. */
export class RecordedTable {
  private readonly members: readonly JsonMember[];

  /** @param name the name of a row in the feed */
  constructor(
    readonly columns: EntityColumns,
    readonly name: string,
  ) {
    this.members = listJsonMembers(columns);
  }

  get tableName(): string {
    return this.columns.metadata.tableName;
  }

  /** Writes the SQL that makes JSON of a row, and of its key. */
  writeJson(row: 'OLD.' | 'NEW.', writeValue: WriteValue): { id: string; data: string } {
    const { columns, members } = this;
    const keys = members.filter(({ column }) => column.isPrimary);
    const [key, ...others] = keys;
    const data = writeObject(columns, members, writeValue, row);
    if (key === undefined || others.length > 0) {
      return { id: writeObject(columns, keys, writeValue, row), data };
    }
    const { column, kind } = key;
    return { id: writeValue(row + columns.quoteColumn(column), kind, column), data };
  }
}

/** Lists the tables whose changes are recorded. */
export function listRecordedTables(store: DataSource): RecordedTable[] {
  return store.entityMetadatas.flatMap(({ target }) => {
    const name = getRecordedName(target);
    if (name === undefined) return [];
    const columns = new EntityColumns(store.getRepository(target));
    return [new RecordedTable(columns, name)];
  });
}

export function createEpoch(): string {
  return randomBytes(9).toString('base64url');
}

export async function isFeedOn(queryRunner: QueryRunner): Promise<boolean> {
  const rows = (await queryRunner.query(
    'SELECT 1 FROM change_feed WHERE epoch IS NOT NULL',
  )) as unknown[];
  return rows.length > 0;
}

const FEED_STATE: Statement = {
  name: 'feed state',
  text: `SELECT epoch, removed, coalesce((SELECT max(number) FROM changes), removed) AS newest
         FROM change_feed`,
};

export async function readFeedState(session: Session): Promise<FeedState> {
  type Row = Record<'removed' | 'newest', number | string> & { readonly epoch: string | null };
  const [row] = await session.query<Row>(FEED_STATE, []);
  return {
    epoch: row?.epoch ?? undefined,
    removed: Number(row?.removed ?? 0),
    newest: Number(row?.newest ?? 0),
  };
}

/** Reads how far the feed can be read, once for all waiting calls. */
export class ReadProgress implements BatchOperation<undefined, Progress> {
  readonly name = 'progress';

  constructor(private readonly changeLog: ChangeLog) {}

  async execute(session: Session, requests: readonly undefined[]): Promise<Progress[]> {
    const progress = await this.changeLog.readProgress(session);
    return requests.map(() => progress);
  }
}

/**
 * A request for the changes with numbers above `after` and up to `until`. A page has `limit` of
 * them, or fewer if their rows are long.
 */
export interface PageRequest {
  readonly after: number;
  readonly until: number;
  readonly limit: number;
}

/** Changes, oldest first, and the state of the feed when they were read. */
export interface FeedPage {
  readonly epoch: string | undefined;
  readonly removed: number;
  readonly rows: readonly RecordedChange[];
}

/**
 * Finds the last change of the page by the sizes alone, which the engines know without reading the
 * rows. Every engine takes `$1` for the first parameter.
 */
const READ_PAGE: Statement = {
  name: 'read changes',
  text: `
    SELECT epoch, removed, number, at, type, changes.id, data
    FROM change_feed LEFT JOIN changes ON number > $1 AND number <= (
      SELECT max(number) FROM (
        SELECT number, sum(bytes) OVER (ORDER BY number) - bytes AS before
        FROM (
          SELECT number, coalesce(octet_length(data), 0) AS bytes
          FROM changes WHERE number > $1 AND number <= $2 ORDER BY number LIMIT $3) AS found) AS measured
      WHERE before < ${PIECE_BYTES})
    ORDER BY number`,
};

/** Reads pages of the feed. */
export class ReadFeedPages implements BatchOperation<PageRequest, FeedPage> {
  readonly name = 'page';

  async execute(session: Session, requests: readonly PageRequest[]): Promise<FeedPage[]> {
    type Row = Omit<RecordedChange, 'number'> & {
      readonly epoch: string | null;
      readonly removed: number | string;
      readonly number: number | string | null;
    };
    const pages: FeedPage[] = [];
    for (const { after, until, limit } of requests) {
      const rows = await session.query<Row>(READ_PAGE, [after, until, limit]);
      pages.push({
        epoch: rows[0]?.epoch ?? undefined,
        removed: Number(rows[0]?.removed ?? 0),
        rows: rows.flatMap(({ number, ...row }) =>
          number === null ? [] : [{ ...row, number: Number(number) }],
        ),
      });
    }
    return pages;
  }
}

/** How many changes are removed in one transaction. */
const REMOVED_AT_ONCE = 1_000;

/**
 * Removes the changes before a time, oldest first. The newest change stays, so that no number is
 * given twice.
 *
 * @param time in milliseconds since 1970
 * @param settled no further change can appear up to this number
 */
export async function removeChangesBefore(
  store: DataSource,
  time: number,
  settled: number,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const oldest = await store.query<{ number: number | string; at: string }[]>(
      'SELECT number, at FROM changes WHERE number < $1 ORDER BY number LIMIT $2',
      [settled, REMOVED_AT_ONCE],
    );
    const kept = oldest.findIndex(({ at }) => Date.parse(at) >= time);
    const last = oldest.at(kept === -1 ? -1 : kept - 1);
    if (last === undefined || kept === 0) return;
    await store.transaction(async (manager) => {
      const number = Number(last.number);
      await manager.query('UPDATE change_feed SET removed = $1 WHERE removed < $1', [number]);
      await manager.query('DELETE FROM changes WHERE number <= $1', [number]);
    });
  }
}
