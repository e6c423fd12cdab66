import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { EntityColumns } from './batching/entity-columns.js';
import {
  type Condition,
  type SortKey,
  startsWith as startConditions,
} from './batching/page-conditions.js';

/** A condition on a property that is more than equality with one value. */
export class Filter {
  constructor(
    /** Makes the conditions on a column. */
    readonly toConditions: (column: ColumnMetadata, columns: EntityColumns) => Condition[],
  ) {}
}

/** Matches texts that begin with a prefix. */
export function startsWith(prefix: string): Filter {
  return new Filter((column, columns) =>
    findStarts({ column, ignoresCase: false }, prefix, columns),
  );
}

/** Matches texts that begin with a prefix, where A to Z equal a to z. */
export function startsWithIgnoringCase(prefix: string): Filter {
  return new Filter((column, columns) =>
    findStarts({ column, ignoresCase: true }, prefix, columns),
  );
}

/** The ends of a range, each of which may be left out. */
export interface Range {
  readonly from?: unknown;
  readonly after?: unknown;
  readonly to?: unknown;
  readonly before?: unknown;
}

/** Matches values in a range. `from` and `to` belong to the range, `after` and `before` do not. */
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
 * Turns conditions on properties into conditions on columns.
 *
 * @param hashed text properties with an index on their hash
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
