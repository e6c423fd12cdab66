import {
  INDEXED_LENGTH,
  type JsonFormat,
  type PageRowSql,
  type PageSql,
  type SqlDialect,
} from '../engine/engine.js';
import { PREFIX } from '../engine/recorded-tables.js';
import { selectRows } from '../engine/select-rows.js';

const GIVEN_ROWS = 'json_each(?1) AS given_rows';
const GIVEN_PLACE = 'given_rows.key';

/** The other types are stored as text. */
const INTEGERS = new Set<unknown>(['integer', 'bigint', 'boolean']);

/**
 * The SQL of SQLite. A 64-bit integer in a parameter is a decimal string, which the type of the
 * column turns into an integer.
 */
export const sqliteDialect: SqlDialect = {
  parameter: (number) => `?${number}`,

  givenRows: GIVEN_ROWS,

  givenPlace: GIVEN_PLACE,

  givenValue: (index) => `(given_rows.value ->> ${index})`,

  givenBytes: (number) => `?${number}`,

  takesArrays: false,

  canPutInOrder: true,

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

  quoteJson: (text) => `json_quote(${text})`,

  plansForValues: false,
  selectPage,
  selectJson,

  selectForEach: (select) => `${select} FROM ${GIVEN_ROWS} ORDER BY ${GIVEN_PLACE}`,
};

function selectPage(page: PageSql, selected: string): string {
  const { keys, isDescending, after } = page;
  if (after === undefined) return selectRows(page, selected, []);
  const operator = isDescending ? '<' : '>';
  // SQLite does not search an index on expressions for (a, b) > (1, 2). It gets a = 1 AND b > 2 ORDER BY
  // b, and then a > 1 ORDER BY a, b.
  const parts = keys.map((key, place) => {
    const equal = keys.slice(0, place).map((other, index) => `${other} = ${after[index]}`);
    return selectRows(page, selected, [...equal, `${key} ${operator} ${after[place]}`], place);
  });
  const [onlyPart, ...others] = parts;
  if (onlyPart !== undefined && others.length === 0) return onlyPart;
  // Without a LIMIT, a subquery may lose its order.
  const ordered = parts.toReversed().map((part) => `SELECT * FROM (${part} LIMIT -1)`);
  return ordered.join(' UNION ALL ');
}

/** There is no LATERAL, and a subquery in its place has one column. So each of three reads the page. */
function selectJson(page: PageSql, row: PageRowSql, { separator, maxBytes }: JsonFormat): string {
  const { limit } = page;
  const select = (value: string): string => selectPage(page, `${value} AS value`);
  const sortValues = `json_array(${row.sortValues.join(', ')})`;
  return `SELECT
      CASE WHEN ${limit} = 1 OR ${maxBytes} >= (
        SELECT coalesce(sum(value), 0) FROM (${select(row.bytes)} LIMIT ${limit}))
      THEN (
        SELECT coalesce(string_agg(value, '${separator}'), '')
        FROM (${select(row.json)} LIMIT ${limit})) END AS text,
      (SELECT json_group_array(json(value))
       FROM (${select(sortValues)} LIMIT 2 OFFSET ${limit} - 1)) AS ends`;
}
