import { INDEXED_LENGTH, type SqlDialect } from '../engine/engine.js';

/**
 * The SQL of PostgreSQL. The values of a row are texts, which the statement converts to the types of
 * their columns.
 */
export const postgresDialect: SqlDialect = {
  parameter: (number) => `$${number}`,

  givenRows: 'jsonb_array_elements($1::jsonb) WITH ORDINALITY AS given_rows(value, ordinality)',

  givenPlace: 'given_rows.ordinality',

  givenValue: (index, type) => `(given_rows.value ->> ${index})::${String(type)}`,

  givenBytes: (number) => `$${number}::bytea`,

  takesArrays: true,

  locks: {
    toChange: 'FOR NO KEY UPDATE',
    toRemove: 'FOR UPDATE',
    toKeep: 'FOR KEY SHARE',
    skip: 'SKIP LOCKED',
    shortenWaits: {
      name: 'shorten waits',
      text: `SELECT set_config('lock_timeout', '1', true)`,
    },
  },

  asText: writeText,

  selected: (columns, column) => columns.qualifyColumn(column),

  fromText: (sql, { type }) => `${sql}::${String(type)}`,

  // The order of most locales is not that of the code points.
  sorted(sql, type, ignoresCase) {
    if (ignoresCase) return `lower(left(${sql}, ${INDEXED_LENGTH}) COLLATE "C")`;
    return type === 'text' ? `${sql} COLLATE "C"` : sql;
  },

  searchesByRow: true,

  quoteJson: (text) => `to_json(${text})::text`,

  jsonArray: (values) => `json_build_array(${values.join(', ')})`,
  jsonArrayOf: (column) => `json_agg(${column})::text`,

  plansForValues: true,
  hasLateral: true,
};

/** Writes a value in its canonical spelling, whatever the settings of the session. */
function writeText(sql: string, type: unknown): string {
  if (type === 'date') return `to_char(${sql}, 'YYYY-MM-DD')`;
  if (type === 'timestamp with time zone') {
    return `to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  }
  return `(${sql})::text`;
}
