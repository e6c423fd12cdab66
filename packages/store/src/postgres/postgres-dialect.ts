import {
  INDEXED_LENGTH,
  type JsonFormat,
  MAX_PAGES,
  MAX_ROWS,
  type PageRowSql,
  type PageSql,
  type SqlDialect,
} from '../engine/engine.js';
import { selectRows } from '../engine/select-rows.js';

const GIVEN_ROWS =
  'jsonb_array_elements($1::jsonb) WITH ORDINALITY AS given_rows(value, ordinality)';
const GIVEN_PLACE = 'given_rows.ordinality';

/**
 * The SQL of PostgreSQL. The values of a row are texts, which the statement converts to the types of
 * their columns.
 */
export const postgresDialect: SqlDialect = {
  parameter: (number) => `$${number}`,

  givenRows: GIVEN_ROWS,

  givenPlace: GIVEN_PLACE,

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
      // 1 ms, which is the shortest, until the end of the transaction. 0 would mean no limit.
      text: `SELECT set_config('lock_timeout', '1', true)`,
    },
  },

  canPutInOrder: false,

  asText,

  selected: (columns, column) => columns.qualifyColumn(column),

  fromText: (sql, { type }) => `${sql}::${String(type)}`,

  // The collation "C" sorts by code point, unlike most locales.
  sorted(sql, type, ignoresCase) {
    if (ignoresCase) return `lower(left(${sql}, ${INDEXED_LENGTH}) COLLATE "C")`;
    return type === 'text' ? `${sql} COLLATE "C"` : sql;
  },

  quoteJson: (text) => `to_json(${text})::text`,

  plansForValues: true,
  selectPage,
  selectJson,

  selectForEach(select) {
    // Without the limit, the planner expects so many pages that it compiles the statement (JIT), which
    // takes far longer than reading the pages.
    const given = `SELECT * FROM ${GIVEN_ROWS} ORDER BY ${GIVEN_PLACE} LIMIT ${MAX_PAGES}`;
    // The SELECT has the values of its page from `given_rows`, so this subquery has the same name.
    return `SELECT made.* FROM (${given}) AS given_rows, LATERAL (${select}) AS made
      ORDER BY ${GIVEN_PLACE}`;
  },
};

/** Writes a value in its canonical spelling, whatever the settings of the session. */
function asText(sql: string, type: unknown): string {
  if (type === 'date') return `to_char(${sql}, 'YYYY-MM-DD')`;
  if (type === 'timestamp with time zone') {
    return `to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  }
  return `(${sql})::text`;
}

function selectPage(page: PageSql, selected: string): string {
  const { keys, isDescending, after } = page;
  if (after === undefined) return selectRows(page, selected, []);
  const operator = isDescending ? '<' : '>';
  const start = `(${keys.join(', ')}) ${operator} (${after.join(', ')})`;
  return selectRows(page, selected, [start]);
}

/** The statement reads the rows once, as the table `page`: those of the page, and the next one. */
function selectJson(page: PageSql, row: PageRowSql, { separator, maxBytes }: JsonFormat): string {
  const { limit } = page;
  // A LIMIT that is a subquery hides the number from the planner. With a known number, the planner
  // plans each page anew, which takes as long as reading it.
  const pageRows = `(SELECT * FROM page LIMIT (SELECT ${limit})) AS page_row`;
  const lastAndNext = `(SELECT * FROM page LIMIT 2 OFFSET (SELECT ${limit} - 1)) AS last_or_next`;
  const bytes = `(SELECT coalesce(sum(${row.bytes}), 0) FROM ${pageRows})`;
  // Here the JSON of a row is made within the aggregate: it takes a quarter less time than as a column
  // of `page`.
  const text = `(SELECT coalesce(string_agg(${row.json}, '${separator}'), '') FROM ${pageRows})`;
  const ends = `(SELECT json_agg(json_build_array(${row.sortValues.join(', ')}))::text FROM ${lastAndNext})`;
  // For a LIMIT that it does not know, the planner expects a tenth of all rows. The constant one
  // inside bounds that.
  return `
    WITH page AS MATERIALIZED (
      SELECT * FROM (${selectPage(page, row.columns)} LIMIT ${MAX_ROWS + 1}) AS bounded
      LIMIT (SELECT ${limit} + 1))
    SELECT
      CASE WHEN ${limit} = 1 OR ${maxBytes} >= ${bytes} THEN ${text} END AS text,
      ${ends} AS ends`;
}
