import { Injectable, type Type } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DataSource, type EntityManager, type ObjectLiteral, type Repository } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { BatchQueue, Failure } from '../batching/batch-queue.js';
import { executeQueries, findRows, type Query } from '../batching/read-rows.js';
import {
  type Decision,
  type DirectWrite,
  REMOVE,
  type RowChange,
} from '../batching/row-changes.js';
import { TableSql } from '../batching/sql-builder.js';
import { writeRows } from '../batching/write-rows.js';
import { readObject } from '../engine/row-json.js';
import { Sequence } from '../engine/sequence.js';
import { joinTransaction } from '../engine/sessions.js';
import type { StoreDataSource } from '../engine/store-data-source.js';
import type { Values } from '../entities/column-values.js';
import { EntityColumns, type RawRow } from '../entities/entity-columns.js';
import { ConstraintError } from '../errors/constraint.error.js';
import {
  MayBeStoredError,
  StoreOverloadedError,
  StoreUnavailableError,
} from '../errors/store.errors.js';
import { assertSynchronous } from './assert-synchronous.js';
import {
  countOutcomes,
  type CreateOutcome,
  IncompleteListError,
  type ListedOutcome,
  type ListOutcome,
} from './list-outcome.js';
import {
  type JsonPage,
  mapAnswers,
  type Order,
  type PageQuery,
  PageReader,
  type RowPage,
  type Where,
} from './page-reader.js';
import type { RowInput } from './row-input.js';
import { assertNotListened } from './row-listeners.js';
import { MAX_WRITTEN, PORTION, splitIntoPortions } from './row-portions.js';

export { REMOVE, type StoreDataSource };

/** How many rows one statement reads. */
const MAX_READ = 128;

const CREATE: DirectWrite<CreateOutcome> = { kind: 'insert', getOutcome: () => 'created' };
const REPLACE: DirectWrite<boolean> = { kind: 'update', getOutcome: () => true };
const DELETE: DirectWrite<boolean> = { kind: 'remove', getOutcome: () => true };

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
  private readonly uncompared: ReadonlySet<ColumnMetadata>;

  private readonly sql: TableSql;
  private readonly changes: BatchQueue<RowChange, unknown>;
  /** The portions of all lists are stored one after another, so that they leave space for others. */
  private readonly lists = new Sequence();
  private readonly finds: BatchQueue<string, RawRow | undefined>;
  private readonly queries: BatchQueue<Query, RawRow[]>;
  private readonly reader: PageReader<Row>;

  /** @throws TypeError with the reason why rows of this entity cannot be written in batches */
  constructor(repository: Repository<Row>, options: RepositoryOptions<Row> = {}) {
    const store = repository.manager.connection as StoreDataSource;
    const columns = new EntityColumns(repository.metadata);
    const { tableName } = columns.metadata;
    this.columns = columns;
    // Providers may add subscribers later: see onApplicationBootstrap().
    assertNotListened(columns.metadata);
    this.uncompared = new Set(options.uncompared?.map((name) => columns.findColumn(name)));

    const { dialect, errors, entityMetadatas } = store;
    const sql = new TableSql(columns, dialect);
    this.sql = sql;
    store.written.set(columns.table, sql.emptyWrites());
    const write = writeRows(sql, errors, entityMetadatas);
    this.changes = new BatchQueue(store, 'writers', tableName, write, MAX_WRITTEN);
    this.finds = new BatchQueue(store, 'rowReaders', tableName, findRows(sql), MAX_READ);
    this.queries = new BatchQueue(store, 'pageReaders', tableName, executeQueries, 1);
    this.reader = new PageReader(store, columns, options.orders ?? {}, this.queries);
  }

  /**
   * Nest calls it once all providers exist, of which some may be subscribers.
   *
   * @throws TypeError for an entity with methods that TypeORM calls for its own repository alone
   */
  onApplicationBootstrap(): void {
    assertNotListened(this.columns.metadata);
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
      const failure = results.find(isStoreFailure);
      if (failure !== undefined) {
        // In a transaction, the statement that has failed is undone.
        const failed = manager === undefined ? 'unknown' : 'not stored';
        const tried = results.map((one) => (isStoreFailure(one) ? failed : toListed(one)));
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
    const { changes, lists } = this;
    const results =
      manager === undefined
        ? await lists.execute(() => changes.addAll(portion))
        : await joinTransaction(manager, (session) => changes.executeAllAlone(session, portion));
    // The queue resolves each change with an outcome of the change's own type.
    return results as (CreateOutcome | Failure)[];
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
        ? { kind: 'add', getOutcome: (added) => this.columns.decodeRow(added) as Row }
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
    const raw = await this.finds.execute(text, manager);
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
    const [row] = await this.queries.execute(query, manager);
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
    return await this.reader.list(query, where, manager);
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
    return await this.reader.page(query, where, manager);
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
    const page = await this.page(query, where, manager);
    return mapAnswers(page, (row) => toAnswer(readObject(this.columns, row) as Row));
  }

  private write<Outcome>(
    change: RowChange<Outcome>,
    manager: EntityManager | undefined,
  ): Promise<Outcome> {
    // The queue resolves each change with an outcome of the change's own type.
    return this.changes.execute(change, manager) as Promise<Outcome>;
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

/** Whether a result is a failure of the store, and not of the row. */
function isStoreFailure(result: CreateOutcome | Failure): result is Failure {
  if (!(result instanceof Failure)) return false;
  return result.reason instanceof StoreUnavailableError;
}

function toListed(result: CreateOutcome | Failure): ListedOutcome {
  return result instanceof Failure ? (result.reason as Error) : result;
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
