import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { EntityColumns } from './batching/entity-columns.js';
import { type Condition, type SortKey, startsWith as startConditions } from './batching/page.js';

/** What a property of a row has to be, where it is not one value. */
export class Filter {
  constructor(
    /** Makes the conditions on a column. */
    readonly toConditions: (column: ColumnMetadata, columns: EntityColumns) => Condition[],
  ) {}
}

/** A text that begins with this. */
export function startsWith(prefix: string): Filter {
  return new Filter((column, columns) =>
    findStarts({ column, ignoresCase: false }, prefix, columns),
  );
}

/** A text that begins with this, where A to Z equal a to z. */
export function startsWithIgnoringCase(prefix: string): Filter {
  return new Filter((column, columns) =>
    findStarts({ column, ignoresCase: true }, prefix, columns),
  );
}

/** The ends of a range; a value that is not given is no end. */
export interface Range {
  readonly from?: unknown;
  readonly after?: unknown;
  readonly to?: unknown;
  readonly before?: unknown;
}

/** A value in a range: `from` and `to` belong to it, `after` and `before` do not. */
export function inRange({ from, after, to, before }: Range): Filter {
  const ends = [
    ['>=', from],
    ['>', after],
    ['<=', to],
    ['<', before],
  ] as const;
  return new Filter((column, columns) =>
    ends
      .filter(([, value]) => value !== undefined)
      .map(([operator, value]) => ({
        key: { column, ignoresCase: false },
        operator,
        value: columns.encode(value, column),
      })),
  );
}

/**
 * What columns have to hold for properties to be as wanted.
 *
 * @param hashed properties that an index finds by the hash of their text
 * @throws TypeError when there is no such property
 */
export function readConditions(
  columns: EntityColumns,
  wanted: Readonly<Record<string, unknown>>,
  hashed: ReadonlySet<string>,
): Condition[] {
  return Object.entries(wanted).flatMap(([property, value]): Condition[] => {
    if (value === undefined) return [];
    const column = columns.findColumn(property);
    if (value instanceof Filter) return value.toConditions(column, columns);
    const key = { column, ignoresCase: false };
    const encoded = columns.encode(value, column);
    const isEqual: Condition = { key, operator: '=', value: encoded };
    return hashed.has(property) && encoded !== null
      ? [isEqual, { key, operator: 'hash', value: encoded }]
      : [isEqual];
  });
}

function findStarts(key: SortKey, prefix: string, columns: EntityColumns): Condition[] {
  return startConditions(key, prefix, (value, column) => columns.encode(value, column));
}
