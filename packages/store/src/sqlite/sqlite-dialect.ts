import { INDEXED_LENGTH, type SqlDialect } from '../engine/engine.js';
import { PREFIX } from '../engine/recorded-tables.js';

/** The other types are stored as text. */
const INTEGERS = new Set<unknown>(['integer', 'bigint', 'boolean']);

/**
 * The SQL of SQLite. A given 64-bit integer is a decimal string, which the type of the column turns
 * into an integer.
 */
export const sqliteDialect: SqlDialect = {
  parameter: (number) => `?${number}`,

  givenRows: 'json_each(?1) AS given_rows',

  givenPlace: 'given_rows.key',

  givenValue: (index) => `(given_rows.value ->> ${index})`,

  givenBytes: (number) => `?${number}`,

  takesArrays: false,

  findTriggers: {
    name: 'find triggers',
    text: `SELECT name FROM sqlite_schema
      WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE AND substr(name, 1, ${PREFIX.length}) <> '${PREFIX}'`,
  },

  asText: (sql, type) => (INTEGERS.has(type) ? `CAST(${sql} AS TEXT)` : sql),

  selected(columns, column) {
    const name = columns.qualifyColumn(column);
    // The driver reads an integer as a double.
    const sql = column.type === 'bigint' ? `CAST(${name} AS TEXT)` : name;
    return `${sql} AS ${columns.quoteColumn(column)}`;
  },

  fromText: (sql, { type }) => (INTEGERS.has(type) ? `CAST(${sql} AS INTEGER)` : sql),

  sorted: (sql, _, ignoresCase) =>
    ignoresCase ? `lower(substr(${sql}, 1, ${INDEXED_LENGTH}))` : sql,

  searchesByRow: false,

  quoteJson: (text) => `json_quote(${text})`,

  jsonArray: (values) => `json_array(${values.join(', ')})`,
  jsonArrayOf: (column) => `json_group_array(json(${column}))`,

  plansForValues: false,
  hasLateral: false,
};
