import type { EntityManager, ObjectLiteral, Repository } from 'typeorm';
import { ApiError } from '../errors/api-error.js';
import type { ErrorKind } from '../errors/error-catalogue.js';
import { JsonText } from '../json/json-text.js';
import { StoreMetrics } from '../observability/metrics.js';
import { BatchQueue } from './batching/batch-queue.js';
import type {
  BulkStatements,
  BulkTable,
  Change,
  Page,
  Removal,
  WrittenPage,
} from './batching/bulk-table.js';
import { ConstraintError } from './constraint.error.js';
import { EntityColumns, type RawRow, type Values } from './batching/entity-columns.js';
import {
  type ChangeOutcome,
  type CreateOutcome,
  type NewRow,
  RowWriter,
  type Step,
} from './batching/row-writer.js';
import type { StoreDataSource } from './data-source/store-data-source.js';

export type { ChangeOutcome, CreateOutcome };

/** How many rows one commit writes, and one statement reads. */
const MAX_WRITTEN = 1_024;
const MAX_READ = 128;

/** What to look for in a table, by the key. */
export interface PageQuery<Row> {
  /** The key after which the page begins; the first page without it. */
  readonly after?: unknown;
  readonly limit: number;
  /** What properties have to be; an int64 may be a bigint. */
  readonly where?: { readonly [Property in keyof Row]?: Row[Property] | bigint };
}

/** A page that the engine has written as JSON, without an object for each row. */
export interface JsonPage {
  /** An array; members are named as properties are, and left out where they are null. */
  readonly json: JsonText;
  /** The key after which the next page begins; undefined when this is the last. */
  readonly next: string | undefined;
}

/**
 * The rows of an entity, written many to a commit: what arrives while a commit is under way shares
 * the next one, and its flush to disk. What is resolved is on disk, and every later read sees it.
 *
 * Whatever takes a manager is part of its transaction, and is on disk once that is.
 */
export class TableRows<Row extends ObjectLiteral> {
  private readonly store: StoreDataSource;
  private readonly columns: EntityColumns;
  private readonly table: BulkTable;
  private readonly writer: RowWriter;
  private readonly creates: BatchQueue<NewRow, CreateOutcome>;
  private readonly replaces: BatchQueue<Change, ChangeOutcome>;
  private readonly removes: BatchQueue<Removal, ChangeOutcome>;
  private readonly finds: BatchQueue<string, RawRow | undefined>;
  private readonly pages: BatchQueue<Page, RawRow[]>;
  private readonly jsonPages: BatchQueue<Page, WrittenPage>;

  /**
   * @param violations what constraints of the table are answered with, by the property that they are
   *   about: a foreign key or a unique column; the key, for rows that others refer to
   * @throws TypeError when rows of this entity cannot be written in groups
   */
  constructor(
    repository: Repository<Row>,
    private readonly violations?: Readonly<Partial<Record<keyof Row & string, ErrorKind>>>,
  ) {
    this.store = repository.manager.connection as StoreDataSource;
    this.columns = new EntityColumns(repository, (...args) => this.store.encodeValue(...args));
    this.table = this.store.bulkTable(this.columns);
    this.writer = new RowWriter(this.table, this.columns);
    this.creates = this.writeQueue('create', this.writer.create);
    this.replaces = this.writeQueue('replace', this.writer.replace);
    this.removes = this.writeQueue('remove', this.writer.remove);
    this.finds = this.readQueue('find', MAX_READ, (statements, keys) =>
      this.findAll(statements, keys),
    );
    this.pages = this.readQueue('page', 1, (statements, pages) =>
      Promise.all(pages.map((page) => statements.page(page))),
    );
    this.jsonPages = this.readQueue('page', this.table.pagesAtOnce, (statements, pages) =>
      statements.jsonPages(pages),
    );
  }

  /**
   * Stores a new row, unless its key is taken.
   *
   * @throws ConstraintError, or ApiError where the violation of it has one
   * @throws ApiError 50300 when it may or may not be stored
   */
  async create(row: Row, manager?: EntityManager): Promise<CreateOutcome> {
    const values = this.columns.valuesOf(row);
    const newRow = { key: this.columns.keyText(values[this.columns.keyIndex]), values };
    return await this.write(this.creates, this.writer.create, newRow, manager);
  }

  /**
   * Stores a row in the place of the one with its key.
   *
   * @param expected what is stored has to be this; undefined for anything
   * @throws ConstraintError, or ApiError where the violation of it has one
   * @throws ApiError 50300 when it may or may not be done
   */
  async replace(row: Row, expected?: Row, manager?: EntityManager): Promise<ChangeOutcome> {
    const values = this.columns.valuesOf(row);
    const change = {
      key: this.columns.keyText(values[this.columns.keyIndex]),
      values,
      expected: expected === undefined ? null : this.columns.valuesOf(expected),
    };
    return await this.write(this.replaces, this.writer.replace, change, manager);
  }

  /**
   * Removes the row with a key.
   *
   * @param expected what is stored has to be this; undefined for anything
   * @throws ConstraintError, or ApiError where the violation of it has one
   * @throws ApiError 50300 when it may or may not be done
   */
  async remove(key: unknown, expected?: Row, manager?: EntityManager): Promise<ChangeOutcome> {
    const removal = {
      key: this.columns.keyText(key),
      expected: expected === undefined ? null : this.columns.valuesOf(expected),
    };
    return await this.write(this.removes, this.writer.remove, removal, manager);
  }

  /** @throws ApiError 50300 */
  async find(key: unknown): Promise<Row | undefined> {
    const raw = await this.finds.add(this.columns.keyText(key));
    return raw === undefined ? undefined : (this.columns.rowOf(raw) as Row);
  }

  /**
   * Rows in the order of their keys.
   *
   * @throws ApiError 50300
   */
  async page(query: PageQuery<Row>): Promise<Row[]> {
    const rows = await this.pages.add(this.pageOf(query));
    return rows.map((raw) => this.columns.rowOf(raw) as Row);
  }

  /**
   * Rows in the order of their keys, as JSON.
   *
   * @throws TypeError when a column is of a type that engines do not write alike
   * @throws ApiError 50300
   */
  async jsonPage(query: PageQuery<Row>): Promise<JsonPage> {
    const { text, last, hasMore } = await this.jsonPages.add(this.pageOf(query));
    return { json: new JsonText(text), next: hasMore ? last : undefined };
  }

  private pageOf({ after, limit, where = {} }: PageQuery<Row>): Page {
    return {
      after: after === undefined ? undefined : this.columns.keyText(after),
      limit,
      where: this.columns.conditionsOf(where),
    };
  }

  private async write<Item, Outcome extends string>(
    queue: BatchQueue<Item, Outcome>,
    step: Step<Item, Outcome>,
    item: Item,
    manager: EntityManager | undefined,
  ): Promise<Outcome> {
    try {
      if (manager === undefined) {
        this.store.assertOutsideTransaction();
        return await queue.add(item);
      }
      const [result] = await step(this.table.within(manager), [item]);
      if (result === undefined || result instanceof Error)
        throw result ?? new TypeError('no result');
      return result;
    } catch (error) {
      const violation = error instanceof ConstraintError && this.violationOf(error);
      throw violation ? new ApiError(violation) : error;
    }
  }

  private violationOf({ properties }: ConstraintError): ErrorKind | undefined {
    return properties.map((property) => this.violations?.[property]).find(Boolean);
  }

  private writeQueue<Item extends object, Outcome extends string>(
    operation: string,
    step: Step<Item, Outcome>,
  ): BatchQueue<Item, Outcome> {
    return new BatchQueue<Item, Outcome>({
      concurrency: this.table.concurrency,
      maxBatchItems: MAX_WRITTEN,
      sizeOf: (item) => ('values' in item ? sizeOf(item.values as Values) : 0),
      perform: (take) =>
        this.table.write(async (statements) => {
          const items = take();
          return items.length === 0 ? [] : await step(statements, items);
        }),
      metrics: new StoreMetrics(this.columns.metadata.tableName, operation, 'commit'),
    });
  }

  private readQueue<Item, Outcome>(
    operation: string,
    maxBatchItems: number,
    step: (statements: BulkStatements, items: readonly Item[]) => Promise<Outcome[]>,
  ): BatchQueue<Item, Outcome> {
    return new BatchQueue<Item, Outcome>({
      concurrency: this.table.readConcurrency,
      maxBatchItems,
      sizeOf: () => 0,
      perform: (take) =>
        this.table.read(async (statements) => {
          const items = take();
          return items.length === 0 ? [] : await step(statements, items);
        }),
      metrics: new StoreMetrics(this.columns.metadata.tableName, operation, 'read'),
    });
  }

  private async findAll(
    statements: BulkStatements,
    keys: readonly string[],
  ): Promise<(RawRow | undefined)[]> {
    const { key } = this.columns;
    const found = new Map<string, RawRow>();
    for (const row of await statements.find([...new Set(keys)])) {
      found.set(this.columns.keyText(row[key.databaseName]), row);
    }
    return keys.map((wanted) => found.get(wanted));
  }
}

function sizeOf(values: Values): number {
  let size = 0;
  for (const value of values) if (typeof value === 'string') size += value.length;
  return size;
}
