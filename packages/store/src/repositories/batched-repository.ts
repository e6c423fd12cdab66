import { Injectable, type Type } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { types } from 'node:util';
import {
  DataSource,
  type EntityManager,
  type EntityMetadata,
  type EntitySubscriberInterface,
  type ObjectLiteral,
  type Repository,
} from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { type Json, parseJson, parseJsonList } from '../json/json.js';
import { JsonText } from '../json/json-text.js';
import { writeJson } from '../json/json-writer.js';
import { BatchQueue, Failure } from '../batching/batch-queue.js';
import { countBytes, type Values } from '../entities/column-values.js';
import { EntityColumns, type RawRow } from '../entities/entity-columns.js';
import { readCursor, writeCursor } from '../batching/cursors.js';
import { type PageStatement, PageStatements } from '../batching/page-statements.js';
import { hasOneValue, type Page, type SortKey } from '../batching/pages.js';
import {
  ARRAY,
  executeQueries,
  findRows,
  LINES,
  type PageRequest,
  PIECE_BYTES,
  type Query,
  readPages,
  readPageText,
} from '../batching/read-rows.js';
import { type JsonFormat, MAX_PAGES, MAX_ROWS } from '../engine/engine.js';
import { readObject } from '../engine/row-json.js';
import { TableSql } from '../batching/sql-builder.js';
import {
  type Decision,
  type DirectWrite,
  REMOVE,
  type RowChange,
} from '../batching/row-changes.js';
import { writeRows } from '../batching/write-rows.js';
import { ConstraintError } from '../errors/constraint.error.js';
import { joinTransaction } from '../engine/sessions.js';
import type { StoreDataSource } from '../engine/store-data-source.js';
import { type Filter, readConditions } from './filters.js';
import { iterate } from './iterate.js';
import {
  countOutcomes,
  type CreateOutcome,
  IncompleteListError,
  type ListedOutcome,
  type ListOutcome,
} from './list-outcome.js';
import { Sequence } from '../engine/sequence.js';
import {
  MayBeStoredError,
  StoreOverloadedError,
  StoreUnavailableError,
} from '../errors/store.errors.js';

export { REMOVE, type StoreDataSource };

/** How many changes one commit makes, and how many rows one statement reads. */
export const MAX_WRITTEN = 512;
const MAX_READ = 128;

/**
 * How many rows, and how many bytes of them, a portion of a list has at most: enough for the next
 * commit to begin while one is answered.
 */
const PORTION = { rows: 2 * MAX_WRITTEN, bytes: 8 * 1024 * 1024 };

const CREATE: DirectWrite<CreateOutcome> = { kind: 'insert', getOutcome: () => 'created' };
const REPLACE: DirectWrite<boolean> = { kind: 'update', getOutcome: () => true };
const DELETE: DirectWrite<boolean> = { kind: 'remove', getOutcome: () => true };

/** The type of a value to store: an int64 may also be a bigint. */
type Given<Value> = string extends Value ? Value | bigint : Value;

/**
 * A row to store: members that may be null may be left out, and an int64 may be a bigint.
 *
 * @example
 * ```ts
 * const row: RowInput<Plant> = { id: 1n, name: 'Monstera' };
 * await plants.create(row);
 * ```
 */
export type RowInput<Row> = {
  [Property in keyof Row as null extends Row[Property] ? never : Property]: Given<Row[Property]>;
} & {
  [Property in keyof Row as null extends Row[Property] ? Property : never]?:
    Given<Row[Property]> | undefined;
};

/**
 * The sort keys of a page: properties, or the first 64 characters of a text, where A to Z equal a to
 * z.
 */
export type Order<Row> = readonly (
  (keyof Row & string) | { readonly ignoringCase: keyof Row & string }
)[];

export interface RepositoryOptions<Row> {
  /**
   * The orders in which pages may be read, by their names. Each needs an index on its columns,
   * followed by the columns of the key. The order of a key of one property has the name of that
   * property.
   */
  readonly orders?: Readonly<Record<string, Order<Row>>>;
  /**
   * Properties that the program sets, such as `createdAt`: a row to create is identical to a stored
   * one that differs only in these.
   */
  readonly uncompared?: readonly (keyof Row & string)[];
}

/**
 * The part of a list to read.
 *
 * @example
 * ```ts
 * const query: PageQuery = { limit: 100, sort: '-name' };
 * const page = await plants.list(query, { tag: 'indoor' });
 * ```
 */
export interface PageQuery {
  /** How many rows at most, from 1. A page of JSON also ends before it exceeds 1 MiB. */
  readonly limit: number;
  /** The name of an order, with a minus in front for its reverse; by default the order of the key. */
  readonly sort?: string | undefined;
  /** The `next` of the page before. */
  readonly after?: string | undefined;
  /** JSON as one array, or as one value per line; an array by default. */
  readonly format?: 'array' | 'lines' | undefined;
}

/** Conditions on properties: values, or filters such as `startsWithIgnoringCase('a')`. */
export type Where<Row> = {
  readonly [Property in keyof Row]?: Given<Row[Property]> | Filter | undefined;
};

/**
 * A page of rows as JSON. Members have the names of the properties; a member that is null is left
 * out.
 * @example
 * ```ts
 * const page: JsonPage = await plants.page({ limit: 100 });
 * if (page.next !== undefined) await plants.page({ limit: 100, after: page.next });
 * ```
 */
export interface JsonPage {
  /** Lines are an iterable of pieces, which are read while they are sent. */
  readonly json: JsonText | AsyncIterable<string>;
  /** Where the page ended, for the next page; undefined when this one is the last. */
  readonly next: string | undefined;
}

/** A page of rows. */
export interface RowPage<Row> {
  readonly rows: readonly Row[];
  /** Where the page ended, for the next page; undefined when this one is the last. */
  readonly next: string | undefined;
}

/**
 * The rows of an entity. Writes that arrive during a commit share the next one, and its flush to
 * disk. A write is on disk when its promise resolves, and every later read sees it.
 *
 * A call with a manager is part of the manager's transaction, and on disk once that is committed. A
 * key is the value of the key column; of several columns it is an object by their properties.
 *
 * Every method throws a ConstraintError when a row breaks a rule of the table, a RangeError for a
 * value that its column cannot hold, and a StoreUnavailableError when the store fails or takes too
 * long: it may or may not have made a change.
 *
 * @example
 * ```ts
 * const outcome = await plants.create({ id: 1n, name: 'Monstera' }); // 'created'
 * const plant = await plants.update(1n, (stored) => ({ ...stored, tag: 'indoor' }));
 * const { json, next } = await plants.page({ limit: 100, sort: 'name' });
 * await plants.remove(1n);
 * ```
 */
export class BatchedRepository<Row extends ObjectLiteral> {
  private readonly columns: EntityColumns;
  private readonly orders: ReadonlyMap<string | undefined, readonly SortKey[]>;
  private readonly uncompared: ReadonlySet<ColumnMetadata>;

  private readonly sql: TableSql;
  private readonly pageStatements: PageStatements;
  private readonly changes: BatchQueue<RowChange, unknown>;
  /** The portions of all lists are stored one after another, so that they leave space for others. */
  private readonly lists = new Sequence();
  private readonly finds: BatchQueue<string, RawRow | undefined>;
  private readonly queries: BatchQueue<Query, RawRow[]>;
  private readonly pages: BatchQueue<PageRequest, RawRow>;

  /** @throws TypeError with the reason why rows of this entity cannot be written in batches */
  constructor(repository: Repository<Row>, options: RepositoryOptions<Row> = {}) {
    const store = repository.manager.connection as StoreDataSource;
    const columns = new EntityColumns(repository.metadata);
    const { tableName } = columns.metadata;
    this.columns = columns;
    this.onApplicationBootstrap();
    this.orders = readOrders(columns, options.orders ?? {});
    this.uncompared = new Set(options.uncompared?.map((name) => columns.findColumn(name)));

    const { dialect, errors, entityMetadatas } = store;
    const sql = new TableSql(columns, dialect);
    this.sql = sql;
    this.pageStatements = new PageStatements(columns, dialect);
    store.written.set(columns.table, sql.emptyWrites());
    const write = writeRows(sql, errors, entityMetadatas);
    this.changes = new BatchQueue(store, 'writers', tableName, write, MAX_WRITTEN);
    this.finds = new BatchQueue(store, 'rowReaders', tableName, findRows(sql), MAX_READ);
    this.queries = new BatchQueue(store, 'pageReaders', tableName, executeQueries, 1);
    this.pages = new BatchQueue(store, 'pageReaders', tableName, readPages, MAX_PAGES);
  }

  /**
   * Nest calls it once all providers exist, of which some may be subscribers.
   *
   * @throws TypeError for an entity with methods that TypeORM calls for its own repository alone
   */
  onApplicationBootstrap(): void {
    const { metadata } = this.columns;
    const { name, listeners, connection } = metadata;
    const [listener] = listeners;
    const method = listener && `@${toPascalCase(listener.type)} of ${listener.propertyName}()`;
    const subscriber = connection.subscribers.find((one) => concernsRows(one, metadata));
    const subject = method ?? subscriber?.constructor.name;
    if (subject === undefined) return;
    throw new TypeError(
      `BatchedRepository would not call ${subject} for ${name}: use TypeORM's own repository for it, or compute the values in the service`,
    );
  }

  /** Stores a new row, unless its key is taken. */
  async create(row: RowInput<Row>, manager?: EntityManager): Promise<CreateOutcome> {
    return await this.write(this.makeCreate(row), manager);
  }

  private makeCreate(row: RowInput<Row>): RowChange<CreateOutcome> {
    const values = this.columns.encodeRow(row);
    return {
      operation: 'create',
      key: this.columns.makeKeyOfValues(values),
      values,
      direct: CREATE,
      decide: (stored, hasSameBytes) => {
        if (stored === undefined) return { outcome: 'created', write: values };
        return { outcome: this.compare(values, stored, hasSameBytes) };
      },
    };
  }

  /** Compares a new row with the stored one of the same key. */
  private compare(values: Values, stored: RawRow, hasSameBytes: boolean): CreateOutcome {
    const isSame = hasSameBytes && this.columns.isSame(values, stored, this.uncompared);
    return isSame ? 'identical' : 'different';
  }

  /**
   * Stores any number of new rows, each as {@link create} does. Of several rows with the same key, the
   * first wins. Rows are stored in portions, between which the writes of others are made. If a column
   * cannot hold a value of some row, no row is stored.
   *
   * @throws IncompleteListError when the store fails: it has the outcome for each row
   */
  async createAll(rows: readonly RowInput<Row>[], manager?: EntityManager): Promise<ListOutcome> {
    const changes = await this.makeCreates(rows);
    const outcomes: ListedOutcome[] = [];
    for (const portion of splitIntoPortions(changes)) {
      const results = await this.createPortion(portion, manager);
      const failure = results.find(isOfStore);
      if (failure !== undefined) {
        // In a transaction, the statement that has failed is undone.
        const failed = manager === undefined ? 'unknown' : 'not stored';
        const tried = results.map((one) => (isOfStore(one) ? failed : toListed(one)));
        const untried = changes.slice(outcomes.length + tried.length);
        const left = untried.map(() => 'not stored' as const);
        throw new IncompleteListError([...outcomes, ...tried, ...left], failure.reason);
      }
      outcomes.push(...results.map(toListed));
    }
    return countOutcomes(outcomes);
  }

  /** Encodes all rows before any is stored, since a wrong one is a mistake of the caller. */
  private async makeCreates(
    rows: readonly RowInput<Row>[],
  ): Promise<readonly RowChange<CreateOutcome>[]> {
    const changes: RowChange<CreateOutcome>[] = [];
    for (const row of rows) {
      changes.push(this.makeCreate(row));
      // Otherwise a long list would keep all requests waiting.
      if (changes.length % PORTION.rows === 0) await nextTurn();
    }
    return changes;
  }

  private async createPortion(
    portion: readonly RowChange[],
    manager: EntityManager | undefined,
  ): Promise<readonly (CreateOutcome | Failure)[]> {
    const { changes } = this;
    const results =
      manager === undefined
        ? this.lists.execute(() => changes.addAll(portion))
        : joinTransaction(manager, (session) => changes.executeAllAlone(session, portion));
    // The queue resolves each change with an outcome of the change's own type.
    return (await results) as (CreateOutcome | Failure)[];
  }

  /**
   * Stores a new row under a generated key, and resolves with the row. After a {@link MayBeStoredError} a
   * retry may store it twice.
   */
  async add(row: Omit<RowInput<Row>, 'id'>, manager?: EntityManager): Promise<Row> {
    const values = this.columns.encodeRow(row);
    const isCounted = this.columns.counter !== undefined;
    const makeRow = (): Row => this.columns.decodeValues(values, undefined) as Row;
    const change: RowChange<Row> = {
      operation: 'add',
      key: isCounted ? '' : this.columns.makeKeyOfValues(values),
      values,
      direct: isCounted
        ? { kind: 'add', getOutcome: (row) => this.columns.decodeRow(row) as Row }
        : { kind: 'insert', getOutcome: makeRow },
      decide: (stored) => {
        if (stored === undefined) return { outcome: makeRow(), write: values };
        const { metadata, keys } = this.columns;
        const properties = keys.map(({ propertyName }) => propertyName);
        const { tableName: table } = metadata;
        throw new ConstraintError({ kind: 'unique', table, properties, entity: metadata });
      },
    };
    try {
      return await this.write(change, manager);
    } catch (error) {
      throw error instanceof StoreOverloadedError ? new MayBeStoredError() : error;
    }
  }

  /**
   * Replaces the stored row that has the same key. Resolves with whether there was one.
   *
   * @param check gets the stored row, and throws an error to prevent the replacement
   */
  async replace(
    row: RowInput<Row>,
    check?: (stored: Row) => void,
    manager?: EntityManager,
  ): Promise<boolean> {
    const values = this.columns.encodeRow(row);
    const change: RowChange<boolean> = {
      operation: 'replace',
      key: this.columns.makeKeyOfValues(values),
      values,
      direct: check === undefined ? REPLACE : undefined,
      decide: (stored) => this.decideIfThere(stored, check, values),
    };
    return await this.write(change, manager);
  }

  private decideIfThere(
    stored: RawRow | undefined,
    check: ((stored: Row) => void) | undefined,
    write: Values | typeof REMOVE,
  ): Decision<boolean> {
    if (stored === undefined) return { outcome: false };
    assertSynchronous(check?.(this.columns.decodeRow(stored) as Row));
    return { outcome: true, write };
  }

  /**
   * Removes the row with a key. Resolves with whether there was one.
   *
   * @param check gets the stored row, and throws an error to prevent the removal
   * @throws ConstraintError also when rows of other tables refer to it
   */
  async remove(
    key: unknown,
    check?: (stored: Row) => void,
    manager?: EntityManager,
  ): Promise<boolean> {
    const change: RowChange<boolean> = {
      operation: 'remove',
      key: this.columns.makeKey(key),
      direct: check === undefined ? DELETE : undefined,
      decide: (stored) => this.decideIfThere(stored, check, REMOVE),
    };
    return await this.write(change, manager);
  }

  /**
   * Changes the row with a key depending on its current values. Changes of the same row are applied
   * in order, each to the result of the one before. Resolves with the row after the change, or with
   * the removed row; undefined if there is none.
   *
   * @param decide gets the current row, or undefined, while no other session can change it. Returns
   *   the row to store instead, {@link REMOVE}, or undefined for no change. An error that it throws
   *   fails this change alone. It must be synchronous, and may be called more than once.
   */
  async change(
    key: unknown,
    decide: (current: Row | undefined) => RowInput<Row> | typeof REMOVE | undefined,
    manager?: EntityManager,
  ): Promise<Row | undefined> {
    const { columns } = this;
    const text = columns.makeKey(key);
    const change: RowChange<Row | undefined> = {
      operation: 'change',
      key: text,
      decide: (stored) => {
        const current = stored && (columns.decodeRow(stored) as Row);
        const next = decide(current);
        if (next === undefined) return { outcome: current };
        if (next === REMOVE) return { outcome: current, write: REMOVE };
        const write = encodeDecision(next, columns, text);
        return { outcome: columns.decodeValues(write, stored) as Row, write };
      },
    };
    return await this.write(change, manager);
  }

  /**
   * Changes the row with a key as {@link change} does, if there is one.
   *
   * @param getNext gets the current row, and returns the row to store instead
   * @returns the row after the change; undefined if there is none
   */
  async update(
    key: unknown,
    getNext: (current: Row) => RowInput<Row>,
    manager?: EntityManager,
  ): Promise<Row | undefined> {
    return await this.change(key, (current) => current && getNext(current), manager);
  }

  /** Finds the row with a key, without its bytes; undefined if there is none. */
  async find(key: unknown, manager?: EntityManager): Promise<Row | undefined> {
    const text = this.columns.makeKey(key);
    const raw = await this.execute(this.finds, text, manager);
    return raw === undefined ? undefined : (this.columns.decodeRow(raw) as Row);
  }

  /**
   * Finds a row as {@link find} does, and keeps it from being removed until the transaction ends.
   * Others may change it until then.
   */
  async keep(key: unknown, manager: EntityManager): Promise<Row | undefined> {
    const { columns, sql } = this;
    const parameters = sql.encodeKeys([columns.makeKey(key)]);
    const [raw] = await joinTransaction(manager, (session) =>
      session.query<RawRow>(sql.keep, parameters),
    );
    return raw && (columns.decodeRow(raw) as Row);
  }

  /** The error of a removal that the foreign key of another row prevents; undefined if none can. */
  get removalError(): ConstraintError | undefined {
    const { metadata } = this.columns;
    const isReferenced = metadata.connection.entityMetadatas.some(({ foreignKeys }) =>
      foreignKeys.some(
        ({ referencedEntityMetadata, onDelete }) =>
          referencedEntityMetadata === metadata && !/^(CASCADE|SET )/.test(onDelete ?? ''),
      ),
    );
    if (!isReferenced) return undefined;
    const { tableName: table } = metadata;
    return new ConstraintError({ kind: 'referenced', table, entity: metadata });
  }

  /**
   * Reads the bytes of one property in the row with a key; undefined if there is no such row. No
   * other method reads bytes: the rows that they return have none. A replacement or a change that
   * leaves them out keeps the stored ones.
   */
  async readBytes(
    key: unknown,
    property: keyof Row & string,
    manager?: EntityManager,
  ): Promise<Buffer | null | undefined> {
    const { columns, sql } = this;
    const statement = sql.readBytes(columns.findColumn(property));
    const parameters = sql.encodeKeys([columns.makeKey(key)]);
    const query: Query = { operation: 'bytes', statement, parameters };
    const [row] = await this.execute(this.queries, query, manager);
    return row?.bytes as Buffer | null | undefined;
  }

  /**
   * Reads a page of rows, however long they are.
   *
   * @throws InvalidCursorError when `after` is not from a page of this list
   */
  async list(
    query: PageQuery,
    where: Where<Row> = {},
    manager?: EntityManager,
  ): Promise<RowPage<Row>> {
    const page = this.readQuery(query, where);
    const statement = this.pageStatements.rows(page);
    // One more row shows whether there is another page.
    const longer = { ...page, limit: page.limit + 1 };
    const found = await this.readPage(statement, longer, manager);
    const shown = found.slice(0, query.limit);
    const last = found.length > shown.length ? shown.at(-1) : undefined;
    const end = last && page.order.map((_, index) => last[`page_sort${index}`] as string);
    return {
      rows: shown.map((raw) => this.columns.decodeRow(raw) as Row),
      next: end && writeCursor(page, end),
    };
  }

  /**
   * Reads a page of rows as JSON. It ends before its JSON exceeds 1 MiB, so it may have fewer rows
   * than `limit`: only `next` says whether there are more. Lines are read while they are sent: a row
   * that exists throughout appears exactly once. With a manager, they must be sent before its
   * transaction ends.
   *
   * @throws InvalidCursorError when `after` is not from a page of this list
   */
  async page(query: PageQuery, where: Where<Row> = {}, manager?: EntityManager): Promise<JsonPage> {
    const page = this.readQuery(query, where);
    if (query.format === 'lines') return { json: this.readLines(page, manager), next: undefined };
    const { text, last } = await this.readJson(page, ARRAY, manager);
    return { json: new JsonText(`[${text}]`), next: last && writeCursor(page, last) };
  }

  /**
   * Reads a page as {@link page} does, and makes an answer of each row: an object with other
   * members, such as one that is computed. Its numbers are written exactly, as in any answer.
   *
   * @param toAnswer gets a row as {@link find} returns it, without the columns that pages hide, and
   *   must be synchronous
   */
  async mapPage(
    query: PageQuery,
    toAnswer: (row: Row) => object,
    where: Where<Row> = {},
    manager?: EntityManager,
  ): Promise<JsonPage> {
    const { json, next } = await this.page(query, where, manager);
    const convert = (row: Json): object => {
      const answer = toAnswer(readObject(this.columns, row) as Row);
      assertSynchronous(answer);
      return answer;
    };
    if (json instanceof JsonText) {
      return { json: new JsonText(writeJson(parseJsonList(json.text).map(convert))), next };
    }
    // The last line of a piece ends with a line feed, too.
    const convertLine = (line: string): string =>
      line === '' ? '' : writeJson(convert(parseJson(line)));
    return { json: mapLines(json, convertLine), next };
  }

  private readLines(page: Page, manager: EntityManager | undefined): AsyncIterable<string> {
    let rest: Page | undefined = page;
    let maxRows = MAX_ROWS;
    return iterate(async () => {
      if (rest === undefined) return undefined;
      const { limit } = rest;
      const piece = { ...rest, limit: Math.min(limit, maxRows) };
      const { text, rows, last } = await this.readJson(piece, LINES, manager);
      // After long rows, more may fit into a piece again.
      maxRows = text.length < PIECE_BYTES / 4 ? Math.min(2 * rows, MAX_ROWS) : rows;
      const isEnd = last === undefined || rows === limit;
      rest = isEnd ? undefined : { ...rest, after: last, limit: limit - rows };
      return text === '' ? undefined : `${text}\n`;
    });
  }

  /** Reads as many rows of a page as fit into a text, by halves, and at least one. */
  private async readJson(
    page: Page,
    format: JsonFormat,
    manager: EntityManager | undefined,
  ): Promise<{ text: string; rows: number; last: readonly string[] | undefined }> {
    const statement = this.pageStatements.json(page, format);
    let limit = Math.min(page.limit, MAX_ROWS);
    for (;;) {
      const [row = {}] = await this.readPage(statement, { ...page, limit }, manager);
      const { text, last } = readPageText(row);
      const isFitting =
        limit === 1 || Buffer.byteLength(text ?? '') + '[]'.length <= format.maxBytes;
      if (text !== undefined && isFitting) return { text, rows: limit, last };
      limit = Math.ceil(limit / 2);
    }
  }

  private async readPage(
    statement: PageStatement,
    page: Page,
    manager: EntityManager | undefined,
  ): Promise<readonly RawRow[]> {
    if (statement.isShared) return [await this.execute(this.pages, { statement, page }, manager)];
    const { operation } = statement;
    const query: Query = { operation, statement, parameters: statement.bind([page]) };
    return await this.execute(this.queries, query, manager);
  }

  private execute<Item, Outcome>(
    queue: BatchQueue<Item, Outcome>,
    item: Item,
    manager: EntityManager | undefined,
  ): Promise<Outcome> {
    if (manager === undefined) return queue.add(item);
    return joinTransaction(manager, (session) => queue.executeAlone(session, item));
  }

  private write<Outcome>(
    change: RowChange<Outcome>,
    manager: EntityManager | undefined,
  ): Promise<Outcome> {
    // The queue resolves each change with an outcome of the change's own type.
    return this.execute(this.changes, change, manager) as Promise<Outcome>;
  }

  /**
   * @throws RangeError when the limit is not a whole number from 1
   * @throws TypeError when there is no such order or property
   * @throws InvalidCursorError when the cursor belongs to another list
   */
  private readQuery({ limit, sort, after: cursor }: PageQuery, where: Where<Row>): Page {
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new RangeError('The limit of a page must be a whole number from 1');
    }
    const isDescending = sort?.startsWith('-') === true;
    const sortKeys = this.orders.get(isDescending ? sort.slice(1) : sort);
    if (sortKeys === undefined) {
      throw new TypeError(`${this.columns.metadata.name} has no order ${String(sort)}`);
    }
    const conditions = readConditions(this.columns, where);
    // To sort by a value that all rows share is useless, and may keep an engine from using an index.
    const order = sortKeys.filter(
      (key, index) => index === sortKeys.length - 1 || !hasOneValue(conditions, key),
    );
    const scope = { conditions, order, isDescending };
    const after = cursor === undefined ? undefined : readCursor(scope, cursor);
    return { conditions, order, isDescending, after, limit };
  }
}

/**
 * Makes the class of the repository of an entity, a provider.
 *
 * @param options the orders of its lists, each of which needs an index, and the properties that
 *   decide nothing when two rows are compared
 * @returns a class whose constructor throws a TypeError with the reason why rows of this entity
 *   cannot be written in batches
 * @example
 * ```ts
 * class NewPlantsRepository extends BatchedRepositoryOf(Plant, {
 *   orders: { name: [{ ignoringCase: 'name' }] },
 * }) {}
 * ```
 */
export function BatchedRepositoryOf<Row extends ObjectLiteral>(
  entity: Type<Row>,
  options?: RepositoryOptions<Row>,
): Type<BatchedRepository<Row>> {
  @Injectable()
  class EntityRepository extends BatchedRepository<Row> {
    constructor(store: DataSource) {
      super(store.getRepository(entity), options);
    }
  }
  return EntityRepository;
}

/** Replaces each line of pieces, which consist of whole lines. */
function mapLines(
  pieces: AsyncIterable<string>,
  convert: (line: string) => string,
): AsyncIterable<string> {
  const iterator = pieces[Symbol.asyncIterator]();
  const readNext = async (): Promise<string | undefined> => {
    const piece = await iterator.next();
    return piece.done === true ? undefined : piece.value.split('\n').map(convert).join('\n');
  };
  return iterate(readNext, () => iterator.return?.());
}

/** Splits new rows into portions. A longer row is a portion of its own. */
function* splitIntoPortions<Outcome>(
  changes: readonly RowChange<Outcome>[],
): Generator<readonly RowChange<Outcome>[]> {
  let portion: RowChange<Outcome>[] = [];
  let bytes = 0;
  for (const change of changes) {
    const size = countBytes(change.values ?? []);
    const hasSpace = portion.length < PORTION.rows && bytes + size <= PORTION.bytes;
    if (portion.length > 0 && !hasSpace) {
      yield portion;
      portion = [];
      bytes = 0;
    }
    portion.push(change);
    bytes += size;
  }
  if (portion.length > 0) yield portion;
}

/** Whether a result is a failure of the store, and not of the row. */
function isOfStore(result: CreateOutcome | Failure): result is Failure {
  if (!(result instanceof Failure)) return false;
  return result.reason instanceof StoreUnavailableError;
}

function toListed(result: CreateOutcome | Failure): ListedOutcome {
  return result instanceof Failure ? (result.reason as Error) : result;
}

/** @throws TypeError when a function has returned a promise, which nothing would wait for */
function assertSynchronous(returned: unknown): void {
  if (!types.isPromise(returned)) return;
  returned.catch(() => undefined);
  throw new TypeError(
    'A function that a repository calls must be synchronous: it returned a promise',
  );
}

/**
 * Encodes the row that a change has decided on.
 *
 * @throws TypeError when it is a promise, or has another key
 */
function encodeDecision(next: ObjectLiteral, columns: EntityColumns, key: string): Values {
  assertSynchronous(next);
  const values = columns.encodeRow(next);
  if (columns.makeKeyOfValues(values) === key) return values;
  throw new TypeError('A change must not give a row another key');
}

/** @throws TypeError when there is no such property, or it cannot be sorted */
function readOrders<Row>(
  columns: EntityColumns,
  orders: Readonly<Record<string, Order<Row>>>,
): Map<string | undefined, readonly SortKey[]> {
  const key = columns.keys.map((column): SortKey => ({ column, ignoresCase: false }));
  const known = new Map<string | undefined, readonly SortKey[]>([[undefined, key]]);
  if (key.length === 1) known.set(key[0]?.column.propertyName, key);
  for (const [name, parts] of Object.entries(orders)) {
    const sortKeys = parts.map((part) => readSortKey(columns, part));
    // The key decides between rows that are equal otherwise.
    const rest = key.filter(({ column }) => sortKeys.every((other) => other.column !== column));
    known.set(name, [...sortKeys, ...rest]);
  }
  return known;
}

function readSortKey<Row>(columns: EntityColumns, part: Order<Row>[number]): SortKey {
  const ignoresCase = typeof part === 'object';
  const column = columns.findColumn(ignoresCase ? part.ignoringCase : part);
  if (!column.isNullable) return { column, ignoresCase };
  throw new TypeError(`Rows cannot be sorted by ${column.propertyName}, since it may be null`);
}

/** The methods of subscribers that TypeORM calls for rows. */
const ROW_EVENTS = /^(?:before|after)(?:Insert|Update|Remove|SoftRemove|Recover|Load)$/;

/** Whether a subscriber wants events of the rows of an entity. */
function concernsRows(subscriber: EntitySubscriberInterface, { target }: EntityMetadata): boolean {
  const listened = subscriber.listenTo?.();
  const isListed = listened === undefined || listened === Object || listened === target;
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(subscriber));
  return isListed && methods.some((name) => ROW_EVENTS.test(name));
}

/** Writes the name of a listener as its decorator has it: `before-insert` is BeforeInsert. */
function toPascalCase(name: string): string {
  return name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
}
