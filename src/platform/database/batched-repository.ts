import type { EntityManager, ObjectLiteral, Repository } from 'typeorm';
import type { ErrorKind } from '../errors/error-catalogue.js';
import { JsonText } from '../json/json-text.js';
import { writeJson } from '../json/json-writer.js';
import { InsertWithGeneratedKeys } from './batching/insert-with-generated-keys.js';
import { type BatchOperation, BatchQueue, HeldRows } from './batching/batch-queue.js';
import {
  type ChangedRow,
  ChangeRows,
  type Decision,
  REMOVE,
  type RowChange,
} from './batching/change-locked-rows.js';
import {
  countCharacters,
  EntityColumns,
  type RawRow,
  type Values,
} from './batching/entity-columns.js';
import { type CursorScope, readCursor, writeCursor } from './batching/page-cursor.js';
import { FindRows } from './batching/read-rows.js';
import {
  type CreateOutcome,
  InsertLists,
  InsertRows,
  type ListOutcome,
  type NewRow,
} from './batching/insert-rows.js';
import {
  assertSortable,
  hasOneValue,
  type Page,
  type SortKey,
} from './batching/page-conditions.js';
import {
  type PageText,
  type Piece,
  type PieceRequest,
  ReadPages,
  ReadPieces,
  ReadRows,
  type SortedRows,
} from './batching/read-rows.js';
import {
  RemoveRows,
  ReplaceRows,
  type Replacement,
  type WriteOutcome,
} from './batching/replace-and-remove-rows.js';
import { nameViolations } from './constraint.error.js';
import { joinTransaction } from './data-source/entity-manager-session.js';
import type { StoreDataSource } from './data-source/store-data-source.js';
import { type Filter, readConditions } from './filters.js';
import { iterate } from './iterate.js';

export { type CreateOutcome, type ListOutcome, REMOVE, type StoreDataSource };

/** How many rows one commit writes, and one statement reads. */
const MAX_WRITTEN = 1_024;
const MAX_READ = 128;
/** How many changes one commit makes. Each change of the same row is a statement of its own. */
const MAX_CHANGED = 128;

/** The type of a value to store: an int64 may also be a bigint. */
type Given<Value> = string extends Value ? Value | bigint : Value;

/** A row to store: members that may be null may be left out, and an int64 may be a bigint. */
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
  /** The errors for violated constraints, by the properties of foreign keys and unique columns. */
  readonly violations?: Readonly<Partial<Record<keyof Row & string, ErrorKind>>>;
  /** The error for a row that cannot be removed, since rows of other tables refer to it. */
  readonly referenced?: ErrorKind;
  /**
   * The orders in which pages may be read, by their names. Each needs an index on its columns,
   * followed by those of the key. The order of a key of one property has the name of that property.
   */
  readonly orders?: Readonly<Record<string, Order<Row>>>;
  /** Text properties with an index on their hash: see `createTextIndex()`. */
  readonly hashed?: readonly (keyof Row & string)[];
}

/** Which part of a list to read. */
export interface PageQuery {
  readonly limit: number;
  /** The name of an order, with a minus in front for its reverse; by default the order of the key. */
  readonly sort?: string | undefined;
  /** The `next` of the page before. */
  readonly after?: string | undefined;
  /** JSON as one array, or as one value per line; an array by default. */
  readonly format?: 'array' | 'lines' | undefined;
}

/** Conditions on properties: values, or filters such as `startsWith('a')`. */
export type Where<Row> = {
  readonly [Property in keyof Row]?: Given<Row[Property]> | Filter | undefined;
};

/** A page of rows as JSON. Members have the names of the properties; those that are null are left out. */
export interface JsonPage {
  /**
   * A page that is too long for memory is an iterable of pieces, which are read while they are
   * sent.
   */
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
 * The rows of an entity. Writes of one kind that arrive during a commit share the next one, and its
 * flush to disk. A write is on disk when its promise resolves, and every later read sees it.
 *
 * A call with a manager is part of the manager's transaction, and on disk once that is committed.
 */
export class BatchedRepository<Row extends ObjectLiteral> {
  private readonly store: StoreDataSource;
  private readonly columns: EntityColumns;
  private readonly orders: ReadonlyMap<string | undefined, readonly SortKey[]>;
  private readonly hashed: ReadonlySet<string>;

  private readonly creates: BatchQueue<NewRow, CreateOutcome>;
  private readonly imports: BatchQueue<readonly Values[], ListOutcome>;
  private readonly adds: BatchQueue<Values, RawRow>;
  private readonly replaces: BatchQueue<Replacement, WriteOutcome>;
  private readonly removes: BatchQueue<{ readonly key: string }, WriteOutcome>;
  private readonly changes: BatchQueue<RowChange, ChangedRow>;
  private readonly finds: BatchQueue<string, RawRow | undefined>;
  private readonly lists: BatchQueue<Page, SortedRows>;
  /** Undefined if the database cannot write these rows as JSON: then the program does. */
  private readonly pages: BatchQueue<Page, PageText> | undefined;
  private readonly pieces: BatchQueue<PieceRequest, Piece> | undefined;

  /** @throws TypeError with the reason why rows of this entity cannot be written in batches */
  constructor(repository: Repository<Row>, options: RepositoryOptions<Row> = {}) {
    const store = repository.manager.connection as StoreDataSource;
    const columns = new EntityColumns(repository, (...args) => store.encodeValue(...args));
    const { tableName } = columns.metadata;
    this.store = store;
    this.columns = columns;
    this.orders = readOrders(columns, options.orders ?? {});
    this.hashed = new Set(options.hashed);
    const { violations, referenced } = options;
    if (violations !== undefined || referenced !== undefined) {
      nameViolations(tableName, { byProperty: violations ?? {}, referenced });
    }

    const { sql, json, classifier } = store.accessTable(columns);
    const held = new HeldRows();
    const writeQueue = <Item, Outcome>(
      operation: BatchOperation<Item, Outcome>,
      maxItems = MAX_WRITTEN,
    ): BatchQueue<Item, Outcome> =>
      new BatchQueue(tableName, operation, 'commit', store.writers, maxItems, held);
    const insertRows = new InsertRows(sql, classifier);
    this.creates = writeQueue(insertRows);
    this.imports = writeQueue(new InsertLists(sql, classifier, insertRows));
    this.adds = writeQueue(new InsertWithGeneratedKeys(sql, classifier));
    this.replaces = writeQueue(new ReplaceRows(sql, classifier));
    this.removes = writeQueue(new RemoveRows(sql, classifier));
    this.changes = writeQueue(new ChangeRows(sql, classifier), MAX_CHANGED);

    const { rowReaders, pageReaders, maxPages } = store;
    this.finds = new BatchQueue(
      tableName,
      new FindRows(sql, classifier),
      'read',
      rowReaders,
      MAX_READ,
    );
    this.lists = new BatchQueue(tableName, new ReadRows(sql), 'read', pageReaders, 1);
    if (json === undefined) return;
    this.pages = new BatchQueue(tableName, new ReadPages(json), 'read', pageReaders, maxPages);
    this.pieces = new BatchQueue(tableName, new ReadPieces(json), 'read', pageReaders, 1);
  }

  /**
   * Stores a new row, unless its key is taken.
   *
   * @throws ConstraintError when the row breaks another rule of the table
   * @throws ApiError 50300 when it may or may not be stored
   */
  async create(row: RowInput<Row>, manager?: EntityManager): Promise<CreateOutcome> {
    const values = this.columns.encodeRow(row);
    return await this.write(this.creates, { key: this.columns.getKey(values), values }, manager);
  }

  /**
   * Stores new rows in one commit, each as {@link create} does. Of several rows with the same key,
   * the first wins.
   *
   * @throws ApiError 50300 when it is not known which of them are stored
   */
  async createAll(rows: readonly RowInput<Row>[]): Promise<ListOutcome> {
    if (rows.length === 0) return { created: 0, identical: 0, failures: new Map() };
    const list = rows.map((row) => this.columns.encodeRow(row));
    return await this.write(this.imports, list, undefined);
  }

  /**
   * Stores a new row under a generated key, and resolves with the row.
   *
   * @throws ConstraintError when the row breaks a rule of the table
   * @throws ApiError 50300 when it may or may not be stored: a retry may store it twice
   */
  async add(row: Omit<RowInput<Row>, 'id'>, manager?: EntityManager): Promise<Row> {
    const values = this.columns.encodeRow(row);
    const raw = await this.write(this.adds, values, manager);
    return this.columns.decodeRow(raw) as Row;
  }

  /**
   * Replaces the stored row that has the same key. Resolves with whether there was one.
   *
   * @param check gets the stored row, and throws an error to prevent the replacement
   * @throws ConstraintError when the row breaks a rule of the table
   * @throws ApiError 50300 when it may or may not be done
   */
  async replace(
    row: RowInput<Row>,
    check?: (stored: Row) => void,
    manager?: EntityManager,
  ): Promise<boolean> {
    const values = this.columns.encodeRow(row);
    const key = this.columns.getKey(values);
    if (check !== undefined) {
      return await this.changeIfThere(key, check, row, manager, countCharacters(values));
    }
    return (await this.write(this.replaces, { key, values }, manager)) === 'done';
  }

  /**
   * Removes the row with a key. Resolves with whether there was one.
   *
   * @param key the value of the key; of several columns an object by their properties
   * @param check gets the stored row, and throws an error to prevent the removal
   * @throws ConstraintError when rows of other tables refer to it
   * @throws ApiError 50300 when it may or may not be done
   */
  async remove(
    key: unknown,
    check?: (stored: Row) => void,
    manager?: EntityManager,
  ): Promise<boolean> {
    const text = this.columns.readKey(key);
    if (check !== undefined) return await this.changeIfThere(text, check, REMOVE, manager);
    return (await this.write(this.removes, { key: text }, manager)) === 'done';
  }

  /**
   * Changes the row with a key depending on its current values. Changes of the same row are applied
   * in order, each to the result of the one before. Resolves with the row after the change;
   * undefined if there is none.
   *
   * @param decide gets the current row, or undefined, while nobody else can change it. Returns the
   *   row to store in its place, {@link REMOVE}, or undefined for no change. An error that it
   *   throws fails this change alone. It must be synchronous, and may be called more than once.
   * @throws ConstraintError when the row breaks a rule of the table
   * @throws ApiError 50300 when it may or may not be done
   */
  async change(
    key: unknown,
    decide: (current: Row | undefined) => RowInput<Row> | typeof REMOVE | undefined,
    manager?: EntityManager,
  ): Promise<Row | undefined> {
    const change: RowChange = {
      key: this.columns.readKey(key),
      decide: decide as (current: ObjectLiteral | undefined) => Decision,
    };
    return (await this.write(this.changes, change, manager)) as Row | undefined;
  }

  /**
   * Changes the row with a key as {@link change} does, if there is one.
   *
   * @param getNext gets the current row, and returns the row to store in its place
   * @returns the row after the change; undefined if there is none
   * @throws ConstraintError when the row breaks a rule of the table
   * @throws ApiError 50300 when it may or may not be done
   */
  async update(
    key: unknown,
    getNext: (current: Row) => RowInput<Row>,
    manager?: EntityManager,
  ): Promise<Row | undefined> {
    return await this.change(key, (current) => current && getNext(current), manager);
  }

  private async changeIfThere(
    key: string,
    check: (stored: Row) => void,
    next: Decision,
    manager: EntityManager | undefined,
    size = 0,
  ): Promise<boolean> {
    let isThere = false;
    const decide: RowChange['decide'] = (current) => {
      isThere = current !== undefined;
      if (current === undefined) return undefined;
      check(current as Row);
      return next;
    };
    await this.write(this.changes, { key, size, decide }, manager);
    return isThere;
  }

  /**
   * Finds the row with a key; undefined if there is none.
   *
   * @param key the value of the key; of several columns an object by their properties
   * @throws ApiError 50300
   */
  async find(key: unknown, manager?: EntityManager): Promise<Row | undefined> {
    const text = this.columns.readKey(key);
    const raw = await this.read(this.finds, text, manager);
    return raw === undefined ? undefined : (this.columns.decodeRow(raw) as Row);
  }

  /**
   * Reads a page of rows.
   *
   * @throws ApiError 40003 when `after` is not from a page of this list; 50300
   */
  async list(
    query: PageQuery,
    where: Where<Row> = {},
    manager?: EntityManager,
  ): Promise<RowPage<Row>> {
    const page = this.readQuery({ ...query, limit: query.limit + 1 }, where);
    const found = await this.read(this.lists, page, manager);
    const shown = found.slice(0, query.limit);
    return {
      rows: shown.map(({ raw }) => this.columns.decodeRow(raw) as Row),
      next: found.length > shown.length ? writeEnd(page, shown.at(-1)?.sortedBy) : undefined,
    };
  }

  /**
   * Reads a page of rows as JSON. Lines and long pages are read while they are sent: a row that
   * exists throughout appears exactly once. With a manager, they must be sent before its
   * transaction ends.
   *
   * @throws ApiError 40003 when `after` is not from a page of this list; 50300
   */
  async page(query: PageQuery, where: Where<Row> = {}, manager?: EntityManager): Promise<JsonPage> {
    const page = this.readQuery(query, where);
    if (query.format === 'lines') return { json: this.readLines(page, manager), next: undefined };
    if (this.pages === undefined) {
      const { rows, next } = await this.list(query, where, manager);
      return {
        json: new JsonText(`[${rows.map((row) => writeJson(withoutNull(row))).join()}]`),
        next,
      };
    }
    const { text, last, hasMore } = await this.read(this.pages, page, manager);
    const next = hasMore ? writeEnd(page, last) : undefined;
    if (text !== undefined) return { json: new JsonText(text), next };
    // Rows that are inserted meanwhile must not push others out: the page ends at its last row.
    const until = last ?? (await this.readLast(page, manager));
    const whole = { ...page, until, limit: Number.MAX_SAFE_INTEGER };
    return { json: this.readArray(whole, manager), next };
  }

  /** Reads the sort values of the last row of a list. */
  private async readLast(
    page: Page,
    manager: EntityManager | undefined,
  ): Promise<readonly string[] | undefined> {
    const reversed = { ...page, isDescending: !page.isDescending, after: undefined, limit: 1 };
    const [row] = await this.read(this.lists, reversed, manager);
    return row?.sortedBy;
  }

  private readLines(page: Page, manager: EntityManager | undefined): AsyncIterable<string> {
    const readNext = this.readPieces(page, '\n', manager);
    return iterate(async () => {
      const piece = await readNext();
      return piece === undefined ? undefined : `${piece}\n`;
    });
  }

  private readArray(page: Page, manager: EntityManager | undefined): AsyncIterable<string> {
    const readNext = this.readPieces(page, ',', manager);
    let separator: '[' | ',' | undefined = '[';
    return iterate(async () => {
      if (separator === undefined) return undefined;
      const start = separator;
      const piece = await readNext();
      separator = piece === undefined ? undefined : ',';
      if (piece !== undefined) return start + piece;
      return start === '[' ? '[]' : ']';
    });
  }

  /** Returns a function that reads the next piece of a page, or undefined after the last one. */
  private readPieces(
    page: Page,
    separator: PieceRequest['separator'],
    manager: EntityManager | undefined,
  ): () => Promise<string | undefined> {
    let left = page.limit;
    let { after } = page;
    return async () => {
      if (left <= 0) return undefined;
      const rest = { ...page, after, limit: left };
      const { text, rows, last } = await this.readPiece({ page: rest, separator }, manager);
      left -= rows;
      after = last;
      return rows === 0 ? undefined : text;
    };
  }

  private async readPiece(
    request: PieceRequest,
    manager: EntityManager | undefined,
  ): Promise<Piece> {
    if (this.pieces !== undefined) return await this.read(this.pieces, request, manager);
    const { page, separator } = request;
    const part = { ...page, limit: Math.min(page.limit, MAX_READ) };
    const found = await this.read(this.lists, part, manager);
    const texts = found.map(({ raw }) => writeJson(withoutNull(this.columns.decodeRow(raw))));
    return { text: texts.join(separator), rows: texts.length, last: found.at(-1)?.sortedBy };
  }

  private async write<Item, Outcome>(
    queue: BatchQueue<Item, Outcome>,
    item: Item,
    manager: EntityManager | undefined,
  ): Promise<Outcome> {
    if (manager !== undefined) return await queue.executeAlone(joinTransaction(manager), item);
    this.store.assertOutsideTransaction('write');
    const outcome = await queue.add(item);
    this.store.onCommit();
    return outcome;
  }

  private async read<Item, Outcome>(
    queue: BatchQueue<Item, Outcome>,
    item: Item,
    manager: EntityManager | undefined,
  ): Promise<Outcome> {
    if (manager !== undefined) return await queue.executeAlone(joinTransaction(manager), item);
    this.store.assertOutsideTransaction('read');
    return await queue.add(item);
  }

  /**
   * @throws TypeError when there is no such order or property
   * @throws ApiError 40003 when the cursor belongs to another list
   */
  private readQuery(
    { limit, sort, after: cursor }: PageQuery,
    where: Where<Row>,
  ): Page & CursorScope {
    const isDescending = sort?.startsWith('-') === true;
    const sortKeys = this.orders.get(isDescending ? sort.slice(1) : sort);
    if (sortKeys === undefined) {
      throw new TypeError(`${this.columns.metadata.name} has no order ${String(sort)}`);
    }
    const conditions = readConditions(this.columns, where, this.hashed);
    // To sort by a value that all rows share is useless, and may keep an engine from using an index.
    const order = sortKeys.filter(
      (key, place) => place === sortKeys.length - 1 || !hasOneValue(conditions, key),
    );
    const page = { conditions, order, isDescending, after: undefined, limit };
    return cursor === undefined ? page : { ...page, after: readCursor(page, cursor) };
  }
}

function writeEnd(page: CursorScope, end: readonly string[] | undefined): string | undefined {
  return end && writeCursor(page, end);
}

function withoutNull(row: ObjectLiteral): ObjectLiteral {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}

/** @throws TypeError when there is no such property, or it cannot be sorted */
function readOrders<Row>(
  columns: EntityColumns,
  orders: Readonly<Record<string, Order<Row>>>,
): Map<string | undefined, readonly SortKey[]> {
  const key = columns.keys.map((column): SortKey => ({ column, ignoresCase: false }));
  const named = Object.entries(orders).map(([name, parts]): [string, readonly SortKey[]] => {
    const sortKeys = parts.map((part): SortKey => {
      const ignoresCase = typeof part === 'object';
      const property = typeof part === 'object' ? part.ignoringCase : part;
      const sortKey = { column: columns.findColumn(property), ignoresCase };
      assertSortable(sortKey);
      return sortKey;
    });
    // The key decides between rows that are equal otherwise.
    const rest = key.filter(({ column }) => sortKeys.every((other) => other.column !== column));
    return [name, [...sortKeys, ...rest]];
  });
  const [onlyKey, ...others] = columns.keys;
  const keyName = others.length === 0 ? onlyKey?.propertyName : undefined;
  return new Map<string | undefined, readonly SortKey[]>([
    [undefined, key],
    [keyName, key],
    ...named,
  ]);
}
