import type { EntityManager, ObjectLiteral } from 'typeorm';
import { BatchQueue } from '../batching/batch-queue.js';
import { readCursor, writeCursor } from '../batching/cursors.js';
import { type PageStatement, PageStatements } from '../batching/page-statements.js';
import { hasOneValue, type Page, type SortKey } from '../batching/pages.js';
import {
  ARRAY,
  LINES,
  type PageRequest,
  PIECE_BYTES,
  type Query,
  readPages,
  readPageText,
} from '../batching/read-rows.js';
import { type JsonFormat, MAX_PAGES, MAX_ROWS } from '../engine/engine.js';
import type { StoreDataSource } from '../engine/store-data-source.js';
import type { EntityColumns, RawRow } from '../entities/entity-columns.js';
import { type Json, parseJson, parseJsonList } from '../json/json.js';
import { JsonText } from '../json/json-text.js';
import { writeJson } from '../json/json-writer.js';
import { assertSynchronous } from './assert-synchronous.js';
import type { Given } from './row-input.js';
import { type Filter, readConditions } from './filters.js';
import { iterate } from './iterate.js';

/**
 * The sort keys of a page: properties, or the first 64 characters of a text, where A to Z equal a to
 * z.
 */
export type Order<Row> = readonly (
  (keyof Row & string) | { readonly ignoringCase: keyof Row & string }
)[];

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

/** Reads the pages of a list: as rows, as JSON, and as lines while these are sent. */
export class PageReader<Row extends ObjectLiteral> {
  private readonly orders: ReadonlyMap<string | undefined, readonly SortKey[]>;
  private readonly statements: PageStatements;
  private readonly pages: BatchQueue<PageRequest, RawRow>;

  /**
   * @param queries executes the pages that share no statement with others
   * @throws TypeError when an order has no such property, or one that cannot be sorted
   */
  constructor(
    store: StoreDataSource,
    private readonly columns: EntityColumns,
    orders: Readonly<Record<string, Order<Row>>>,
    private readonly queries: BatchQueue<Query, RawRow[]>,
  ) {
    const { tableName } = columns.metadata;
    this.orders = readOrders(columns, orders);
    this.statements = new PageStatements(columns, store.dialect);
    this.pages = new BatchQueue(store, 'pageReaders', tableName, readPages, MAX_PAGES);
  }

  async list(
    query: PageQuery,
    where: Where<Row>,
    manager: EntityManager | undefined,
  ): Promise<RowPage<Row>> {
    const page = this.readQuery(query, where);
    const statement = this.statements.rows(page);
    // One more row shows whether there is another page.
    const longer = { ...page, limit: page.limit + 1 };
    const found = await this.execute(statement, longer, manager);
    const shown = found.slice(0, query.limit);
    const rows = shown.map((raw) => this.columns.decodeRow(raw) as Row);
    const last = shown.at(-1);
    const hasMore = found.length > shown.length;
    if (last === undefined || !hasMore) return { rows, next: undefined };
    const end = page.order.map((_, index) => last[`page_sort${index}`] as string);
    return { rows, next: writeCursor(page, end) };
  }

  async page(
    query: PageQuery,
    where: Where<Row>,
    manager: EntityManager | undefined,
  ): Promise<JsonPage> {
    const page = this.readQuery(query, where);
    if (query.format === 'lines') return { json: this.readLines(page, manager), next: undefined };
    const { text, last } = await this.readJson(page, ARRAY, manager);
    return { json: new JsonText(`[${text}]`), next: last && writeCursor(page, last) };
  }

  private readLines(page: Page, manager: EntityManager | undefined): AsyncIterable<string> {
    let rest: Page | undefined = page;
    let pieceLimit = MAX_ROWS;
    return iterate(async () => {
      if (rest === undefined) return undefined;
      const left = rest.limit;
      const piece = { ...rest, limit: Math.min(left, pieceLimit) };
      const { text, limit, last } = await this.readJson(piece, LINES, manager);
      // After long rows, more may fit into a piece again.
      const hasSpace = text.length < PIECE_BYTES / 4;
      pieceLimit = hasSpace ? Math.min(2 * limit, MAX_ROWS) : limit;
      const isEnd = last === undefined || limit === left;
      rest = isEnd ? undefined : { ...rest, after: last, limit: left - limit };
      return text === '' ? undefined : `${text}\n`;
    });
  }

  /**
   * Reads a page as JSON. Halves the limit until the rows fit into a text; a single row always does.
   *
   * @returns the text, the limit that was used, and the sort values of the last row if others follow
   */
  private async readJson(
    page: Page,
    format: JsonFormat,
    manager: EntityManager | undefined,
  ): Promise<{ text: string; limit: number; last: readonly string[] | undefined }> {
    const statement = this.statements.json(page, format);
    let limit = Math.min(page.limit, MAX_ROWS);
    for (;;) {
      const [row = {}] = await this.execute(statement, { ...page, limit }, manager);
      const { text, last } = readPageText(row);
      // The statement only estimates the length.
      const fits = (json: string): boolean =>
        limit === 1 || Buffer.byteLength(json) + '[]'.length <= format.maxBytes;
      if (text !== undefined && fits(text)) return { text, limit, last };
      limit = Math.ceil(limit / 2);
    }
  }

  /** Executes the statement of a page, with those of other pages if it can be shared. */
  private async execute(
    statement: PageStatement,
    page: Page,
    manager: EntityManager | undefined,
  ): Promise<readonly RawRow[]> {
    if (statement.isShared) return [await this.pages.execute({ statement, page }, manager)];
    const { operation } = statement;
    const query: Query = { operation, statement, parameters: statement.bind([page]) };
    return await this.queries.execute(query, manager);
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

/** Makes an answer of each row of a page. */
export function mapAnswers({ json, next }: JsonPage, toAnswer: (row: Json) => object): JsonPage {
  const convert = (row: Json): object => {
    const answer = toAnswer(row);
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
