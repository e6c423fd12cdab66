import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { INDEXED_LENGTH } from '../engine/engine.js';
import { encodeValue } from '../entities/column-values.js';
import type { EntityColumns } from '../entities/entity-columns.js';
import { type Condition, getIndexedStart } from '../batching/pages.js';

/** A condition on a property that is more than equality with one value. */
export class Filter {
  constructor(
    /** Makes the conditions on a column. */
    readonly toConditions: (column: ColumnMetadata) => Condition[],
  ) {}
}

/**
 * Matches texts that begin with a prefix, where A to Z equal a to z.
 *
 * @param prefix of at most 64 code points, since an index holds no more of a text
 * @throws RangeError when it is longer
 * @example
 * ```ts
 * const name = startsWithIgnoringCase('mon');
 * const page = await plants.page({ limit: 100, sort: 'name' }, { name });
 * ```
 */
export function startsWithIgnoringCase(prefix: string): Filter {
  if ([...prefix].length > INDEXED_LENGTH) {
    throw new RangeError(`A prefix has at most ${INDEXED_LENGTH} characters`);
  }
  const start = getIndexedStart(prefix);
  // This follows every text with the prefix that an index holds.
  const end = start + '\u{10ffff}'.repeat(INDEXED_LENGTH + 1);
  return new Filter((column) => {
    const key = { column, ignoresCase: true };
    return [
      { key, operator: '>=', value: start },
      { key, operator: '<', value: end },
    ];
  });
}

/** The ends of a range, each of which may be left out. */
export interface Range {
  readonly from?: unknown;
  readonly after?: unknown;
  readonly to?: unknown;
  readonly before?: unknown;
}

/**
 * Matches values in a range. `from` and `to` belong to the range, `after` and `before` do not. Each
 * end may be left out.
 *
 * @throws TypeError when an end is null, which no value is on either side of
 * @example
 * ```ts
 * const soldAt = inRange({ from: '2026-11-01T00:00:00.000Z', before: '2026-12-01T00:00:00.000Z' });
 * const page = await sales.page({ limit: 100, sort: 'soldAt' }, { soldAt });
 * ```
 */
export function inRange({ from, after, to, before }: Range): Filter {
  const ends = [
    ['>=', from],
    ['>', after],
    ['<=', to],
    ['<', before],
  ] as const;
  if (ends.some(([, value]) => value === null)) {
    throw new TypeError('An end of a range must not be null: leave it out');
  }
  return new Filter((column) =>
    ends
      .filter(([, value]) => value !== undefined)
      .map(([operator, value]) => ({
        key: { column, ignoresCase: false },
        operator,
        value: encodeValue(value, column),
      })),
  );
}

/**
 * Turns conditions on properties into conditions on columns.
 *
 * @throws TypeError when there is no such property
 */
export function readConditions(
  columns: EntityColumns,
  wanted: Readonly<Record<string, unknown>>,
): Condition[] {
  return Object.entries(wanted).flatMap(([property, value]): Condition[] => {
    if (value === undefined) return [];
    const column = columns.findColumn(property);
    if (value instanceof Filter) return value.toConditions(column);
    const encoded = encodeValue(value, column);
    const isEqual: Condition = {
      key: { column, ignoresCase: false },
      operator: '=',
      value: encoded,
    };
    if (column.type !== 'text' || typeof encoded !== 'string') return [isEqual];
    // The index on a text may hold only its start.
    const start = getIndexedStart(encoded);
    return [{ key: { column, ignoresCase: true }, operator: '=', value: start }, isEqual];
  });
}
