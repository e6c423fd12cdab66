import { INDEXED_LENGTH } from '../batching/pages.js';
import type { SqlDialect } from '../batching/sql-builder.js';

/**
 * The SQL of PostgreSQL. Rows are one parameter, a JSON array of objects, so that a statement has a
 * constant text. The types of their members are those of the table.
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

  givenRows: (columns) =>
    `json_populate_recordset(NULL::${columns.table}, $1::json) WITH ORDINALITY AS given`,

  givenValue: (columns, column) => `given.${columns.quoteColumn(column)}`,

  givenBytes: (number) => `$${number}::bytea`,

  encodeRows({ columns }, rows) {
    const names = columns.map(({ databaseName }) => databaseName);
    return `[${rows.map((values) => toJsonObject(names, values)).join()}]`;
  },

  isAmongKeys(columns) {
    const names = columns.keys.map((key) => columns.quoteColumn(key));
    if (names.length === 1) return `${String(names[0])} = ANY($1)`;
    const list = names.join(', ');
    return `(${list}) IN (SELECT ${list} FROM json_populate_recordset(NULL::${columns.table}, $1::json))`;
  },

  encodeKeys(columns, keys) {
    if (columns.keys.length === 1) return keys;
    const names = columns.keys.map(({ databaseName }) => databaseName);
    return `[${keys.map((key) => toJsonObject(names, columns.splitKey(key))).join()}]`;
  },

  insertOrder: (columns) =>
    `ORDER BY ${columns.keys.map((key) => `given.${columns.quoteColumn(key)}`).join(', ')}, given.ordinality`,

  asText: writeText,

  selected: (columns, column) => columns.qualifyColumn(column),

  fromText: (sql) => sql,

  // The order of most locales is not that of the code points.
  sorted(sql, type, ignoresCase) {
    if (ignoresCase) return `lower(left(${sql}, ${INDEXED_LENGTH}) COLLATE "C")`;
    return type === 'text' ? `${sql} COLLATE "C"` : sql;
  },

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

function toJsonObject(names: readonly string[], values: readonly unknown[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name, index) => [name, values[index]])));
}

/** Writes a value in its canonical spelling, whatever the settings of the session. */
function writeText(sql: string, type: unknown): string {
  if (type === 'date') return `to_char(${sql}, 'YYYY-MM-DD')`;
  if (type === 'timestamp with time zone') {
    return `to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  }
  return `(${sql})::text`;
}
