import { INDEXED_LENGTH } from '../batching/pages.js';
import type { SqlDialect } from '../batching/sql-builder.js';

/**
 * The SQL of PostgreSQL. The values of a row are texts, which the statement converts to the types of
 * their columns.
 */
export const postgresDialect: SqlDialect = {
  givenPlace: 'given.ordinality',
  locks: {
    toChange: 'FOR NO KEY UPDATE',
    toRemove: 'FOR UPDATE',
    toKeep: 'FOR KEY SHARE',
    skip: 'SKIP LOCKED',
  },

  parameter: (number) => `$${number}`,

  givenRows: 'jsonb_array_elements($1::jsonb) WITH ORDINALITY AS given(value, ordinality)',

  givenValue: (columns, column) =>
    `(given.value ->> ${columns.columns.indexOf(column)})::${String(column.type)}`,

  givenBytes: (number) => `$${number}::bytea`,

  isAmongKeys(columns) {
    const names = columns.keys.map((key) => columns.quoteColumn(key));
    if (names.length === 1) return `${String(names[0])} = ANY($1)`;
    const values = columns.keys.map(({ type }, index) => `(value ->> ${index})::${String(type)}`);
    return `(${names.join(', ')}) IN (SELECT ${values.join(', ')} FROM jsonb_array_elements($1::jsonb))`;
  },

  encodeKeys: (columns, keys) =>
    columns.keys.length === 1 ? keys : JSON.stringify(keys.map((key) => columns.splitKey(key))),

  insertOrder(columns) {
    const keys = columns.keys.map((key) => sortText(this.givenValue(columns, key), key.type));
    return `ORDER BY ${keys.join(', ')}, given.ordinality`;
  },

  asText: writeText,

  selected: (columns, column) => columns.qualifyColumn(column),

  fromText: (sql) => sql,

  sorted: (sql, type, ignoresCase) =>
    ignoresCase ? `lower(left(${sql}, ${INDEXED_LENGTH}) COLLATE "C")` : sortText(sql, type),

  searchesByRow: true,

  quoteJson: (text) => `to_json(${text})::text`,

  jsonArray: (values) => `json_build_array(${values.join(', ')})`,
  jsonArrayOf: (column) => `json_agg(${column})::text`,

  maxPages: 1,
  // Values in a table, as for several pages, would hide from the planner how many rows match.
  fromPages: '',
  pageValue: (index) => `$${index + 2}`,
  encodePages: ([values = []]) => values,
};

/** The order of most locales is not that of the code points. */
function sortText(sql: string, type: unknown): string {
  return type === 'text' ? `${sql} COLLATE "C"` : sql;
}

/** Writes a value in its canonical spelling, whatever the settings of the session. */
function writeText(sql: string, type: unknown): string {
  if (type === 'date') return `to_char(${sql}, 'YYYY-MM-DD')`;
  if (type === 'timestamp with time zone') {
    return `to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  }
  return `(${sql})::text`;
}
