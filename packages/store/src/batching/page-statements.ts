import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { JsonFormat, PageSql, SqlDialect, Statement } from '../engine/engine.js';
import { listJsonColumns, writeObject } from '../engine/row-json.js';
import type { EntityColumns } from '../entities/entity-columns.js';
import type { Condition, Page, SortKey } from './pages.js';
import { nameStatement } from './sql-builder.js';

/** The most bytes that a date, a number or another value without a length has as JSON. */
const VALUE_BYTES = 36;

/** A statement that reads pages which differ only in their values and their limit. */
export interface PageStatement extends Statement {
  /** The name of the operation in the metrics. */
  readonly operation: 'rows' | JsonFormat['name'];
  /** Whether it reads several pages of one limit. */
  readonly isShared: boolean;
  /** Lists its parameters for these pages: for one, unless it is shared. */
  readonly bind: (pages: readonly Page[]) => unknown[];
}

/** The values of a page that a statement takes, in the order in which their SQL was written. */
class PageValues {
  private readonly readers: ((page: Page) => unknown)[] = [];

  /** @param write writes the SQL of the value with an index */
  constructor(private readonly write: (index: number) => string) {}

  /** Writes the SQL of a value of the page. */
  add(read: (page: Page) => unknown): string {
    this.readers.push(read);
    return this.write(this.readers.length - 1);
  }

  list(page: Page): unknown[] {
    return this.readers.map((read) => read(page));
  }
}

/** The statements that read pages of one table. */
export class PageStatements {
  private readonly statements = new Map<string, PageStatement>();

  constructor(
    private readonly columns: EntityColumns,
    private readonly dialect: SqlDialect,
  ) {}

  /** Reads the rows of a page, and their sort values as `page_sort0` and so on. */
  rows(page: Page): PageStatement {
    return this.cached('rows', page, () => {
      const { columns, dialect } = this;
      const selected = [
        ...columns.plain.map((column) => dialect.selected(columns, column)),
        ...this.writeSortValues(page).map((text, index) => `${text} AS page_sort${index}`),
      ];
      const write = (sql: PageSql): string =>
        `${dialect.selectPage(sql, selected.join(', '))} LIMIT ${sql.limit}`;
      return this.readAlone('rows', page, write);
    });
  }

  /** Reads pages as JSON: see {@link SqlDialect.selectJson}. */
  json(page: Page, format: JsonFormat): PageStatement {
    return this.cached(format.name, page, () => {
      const { columns, dialect } = this;
      const members = listJsonColumns(columns);
      const row = {
        columns: columns.plain.map((column) => columns.quoteColumn(column)).join(', '),
        bytes: this.countBytes(members),
        json: writeObject(columns, members, dialect),
        sortValues: this.writeSortValues(page),
      };
      const write = (sql: PageSql): string => dialect.selectJson(sql, row, format);
      // With the values of several pages in a table, an engine would not know how many rows match
      // them, and pages would wait for the pieces of exports.
      const mustBeAlone = page.conditions.length > 0 || format.name === 'piece';
      return dialect.plansForValues && mustBeAlone
        ? this.readAlone(format.name, page, write)
        : this.readTogether(format.name, page, write);
    });
  }

  /** Caches a statement, since writing it takes as long as reading a page. */
  private cached(
    operation: PageStatement['operation'],
    page: Page,
    write: () => PageStatement,
  ): PageStatement {
    const key = `${operation} ${describeShape(page)}`;
    const known = this.statements.get(key);
    if (known !== undefined) return known;
    const statement = write();
    this.statements.set(key, statement);
    return statement;
  }

  /** Its parameters are the values of one page. */
  private readAlone(
    operation: PageStatement['operation'],
    shape: Page,
    write: (sql: PageSql) => string,
  ): PageStatement {
    const values = new PageValues((index) => this.dialect.parameter(index + 1));
    const limit = values.add((page) => page.limit);
    const text = write(this.writePage(shape, values, limit));
    const bind = (pages: readonly Page[]): unknown[] => pages.flatMap((page) => values.list(page));
    return { ...nameStatement(operation, text), operation, isShared: false, bind };
  }

  /** Its first parameter has the values of all pages, and the second one is their limit. */
  private readTogether(
    operation: PageStatement['operation'],
    shape: Page,
    write: (sql: PageSql) => string,
  ): PageStatement {
    const values = new PageValues((index) => this.dialect.givenValue(index, 'text'));
    const limit = this.dialect.parameter(2);
    const text = this.dialect.selectForEach(write(this.writePage(shape, values, limit)));
    const bind = (pages: readonly Page[]): unknown[] => {
      const given = pages.map((page) => values.list(page));
      return [JSON.stringify(given), pages[0]?.limit];
    };
    return { ...nameStatement(operation, text), operation, isShared: true, bind };
  }

  private writePage(shape: Page, values: PageValues, limit: string): PageSql {
    const conditions = shape.conditions.map((condition, place) =>
      this.writeCondition(condition, () => values.add((page) => page.conditions[place]?.value)),
    );
    const addAfter = (key: SortKey, place: number): string => {
      const value = values.add((page) => page.after?.[place]);
      return this.convert(value, key);
    };
    return {
      table: this.columns.table,
      conditions,
      keys: shape.order.map((key) => this.writeSortKey(key)),
      isDescending: shape.isDescending,
      after: shape.after && shape.order.map(addAfter),
      limit,
    };
  }

  /** @param addValue adds the value of the condition to the parameters, and returns its SQL */
  private writeCondition({ key, operator, value }: Condition, addValue: () => string): string {
    const { column, ignoresCase } = key;
    if (value === null) return `${this.columns.qualifyColumn(column)} IS NULL`;
    // Equality needs no order, and an index on the key of another table has none.
    const isEqual = operator === '=' && !ignoresCase;
    const stored = isEqual ? this.columns.qualifyColumn(column) : this.writeSortKey(key);
    return `${stored} ${operator} ${this.convert(addValue(), key)}`;
  }

  /** Converts a given text to the type of a sort key. */
  private convert(sql: string, { column, ignoresCase }: SortKey): string {
    return ignoresCase ? sql : this.dialect.fromText(sql, column);
  }

  private writeSortKey(
    { column, ignoresCase }: SortKey,
    sql = this.columns.qualifyColumn(column),
  ): string {
    return this.dialect.sorted(sql, column.type, ignoresCase);
  }

  /** Writes the sort values as text, so that the next page can begin after a row. */
  private writeSortValues({ order }: Page): string[] {
    return order.map((key) =>
      this.dialect.asText(
        this.writeSortKey(key, this.columns.quoteColumn(key.column)),
        key.column.type,
      ),
    );
  }

  /** Writes the SQL for about how many bytes a row has as JSON. */
  private countBytes(members: readonly ColumnMetadata[]): string {
    const lengths = members.map((column) => {
      const fixed = JSON.stringify(column.propertyName).length + '"",:'.length;
      return column.type === 'text'
        ? `coalesce(octet_length(${this.columns.quoteColumn(column)}), 0) + ${fixed}`
        : fixed + VALUE_BYTES;
    });
    return lengths.join(' + ');
  }
}

/** Describes what the text of a statement depends on, but for the table. */
function describeShape({ conditions, order, isDescending, after }: Page): string {
  const describeKey = ({ column, ignoresCase }: SortKey): string =>
    `${column.databaseName} ${ignoresCase}`;
  return JSON.stringify([
    conditions.map(({ key, operator, value }) => [describeKey(key), operator, value === null]),
    order.map(describeKey),
    isDescending,
    after !== undefined,
  ]);
}
