import 'reflect-metadata';
import { writeFileSync } from 'node:fs';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { SqlDialect, Statement } from '../../packages/store/src/engine/engine.js';
import { EntityColumns } from '../../packages/store/src/entities/entity-columns.js';
import type { Page, SortKey } from '../../packages/store/src/batching/pages.js';
import { ARRAY, LINES } from '../../packages/store/src/batching/read-rows.js';
import { PageStatements } from '../../packages/store/src/batching/page-statements.js';
import { TableSql } from '../../packages/store/src/batching/sql-builder.js';
import { inRange, startsWithIgnoringCase } from 'durable-rest';
import { readConditions } from '../../packages/store/src/repositories/filters.js';
import { createDataSourceOptions } from 'durable-rest/program';
import { openDatabase } from '../../packages/store/src/open/open-database.js';
import { postgresDialect } from '../../packages/store/src/postgres/postgres-dialect.js';
import { sqliteDialect } from '../../packages/store/src/sqlite/sqlite-dialect.js';
import { Photo } from '../../examples/nursery/src/photos/photo.entity.js';
import { Planting } from '../../examples/nursery/src/plantings/planting.entity.js';
import { schema } from '../../examples/nursery/src/schema.js';
import { Plant } from '../fixtures/plant.entity.js';

// Writes docs/sql.md, so that a change of a statement shows in a diff.

const INTRODUCTION = `# SQL

This page shows the statements that \`BatchedRepository\` executes for plants, and for modules of
\`examples/nursery\`: plantings, whose key has two columns and refers to varieties, and photos, which
have bytes. \`sql-builder.ts\` and \`page-statements.ts\` in \`packages/store/src/batching/\` write
them. \`npm run openapi\` writes this page, so that a change of a statement shows in a diff.

The first parameter of a statement holds all rows, or all keys, of a batch as JSON. So each statement
has a constant text, and stays prepared.
`;

/** Matches the space before a clause, and the place between a parenthesis and a SELECT. */
const CLAUSE_BREAK =
  /(?<!DELETE|FOR|KEY|DO) (?=(?:SELECT|FROM|WHERE|AND|SET|ON CONFLICT|RETURNING|UNION ALL|ORDER BY|LIMIT|FOR|DELETE|UPDATE)\b|THEN \()|(?<=\()(?=SELECT (?!\S+\)))/;

const DIALECTS: Readonly<Record<string, SqlDialect>> = {
  SQLite: sqliteDialect,
  PostgreSQL: postgresDialect,
};

const store = await openDatabase(
  createDataSourceOptions(
    { DATABASE_URL: 'sqlite::memory:', DATABASE_POOL_SIZE: 1 },
    { entities: [Plant, ...schema.entities], migrations: [] },
  ),
  async (dataSource) => {
    await dataSource.initialize();
  },
);
const plants = new EntityColumns(store.getMetadata(Plant));
const plantings = new EntityColumns(store.getMetadata(Planting));
const photos = new EntityColumns(store.getMetadata(Photo));
await store.destroy();

const documents = Object.entries(DIALECTS).map(([engine, dialect]) =>
  [
    writeSection(`Plants on ${engine}`, listPlantStatements(new TableSql(plants, dialect))),
    writeSection(
      `Plantings on ${engine}`,
      listPlantingStatements(new TableSql(plantings, dialect)),
    ),
    writeSection(`Photos on ${engine}`, listPhotoStatements(new TableSql(photos, dialect))),
  ].join('\n'),
);
writeFileSync('docs/sql.md', [INTRODUCTION, ...documents].join('\n'));

type Statements = Readonly<Record<string, Statement>>;

function listPlantStatements(sql: TableSql): Statements {
  const byId = [sortKey(sql, 'id')];
  const byName = [{ ...sortKey(sql, 'name'), ignoresCase: true }, ...byId];
  const named = readConditions(sql.columns, { name: startsWithIgnoringCase('m') });
  const tagged = readConditions(sql.columns, { tag: 'indoor' });
  const pages = new PageStatements(sql.columns, sql.dialect);
  return {
    ...listWrites(sql),
    'Read the first page': pages.json(makePage(byId), ARRAY),
    'Read the page after a row': pages.json(makePage(byId, { after: ['7'] }), ARRAY),
    'Read the page after a row, by name, with a tag': pages.json(
      makePage(byName, { conditions: tagged, after: ['moss', '7'] }),
      ARRAY,
    ),
    'Export, by name from the last one, those that begin with a text': pages.json(
      makePage(byName, { conditions: named, isDescending: true }),
      LINES,
    ),
    'Read the rows of a page': pages.rows(makePage(byName, { after: ['moss', '7'] })),
  };
}

function listPlantingStatements(sql: TableSql): Statements {
  const byKey = [sortKey(sql, 'gardenId'), sortKey(sql, 'varietyId')];
  const byDay = [sortKey(sql, 'plantedOn'), ...byKey];
  const thisYear = inRange({ from: '2026-01-01', before: '2027-01-01' });
  const conditions = readConditions(sql.columns, { plantedOn: thisYear });
  const pages = new PageStatements(sql.columns, sql.dialect);
  return {
    ...listWrites(sql),
    'Find the missing row to which a row refers': sql.missingParent,
    'Read the page after a row, by day, in a year': pages.json(
      makePage(byDay, { conditions, after: ['2026-11-22', 'garden', '7'] }),
      ARRAY,
    ),
  };
}

function listPhotoStatements(sql: TableSql): Statements {
  const data = sql.columns.findColumn('data');
  return {
    ...listWrites(sql),
    'Compare the bytes of a row': sql.findBytes,
    'Read the bytes of a row': sql.readBytes(data),
  };
}

function listWrites(sql: TableSql): Statements {
  const canPutInOrder = sql.dialect.findTriggers !== undefined && sql.columns.bytes.length === 0;
  const [replace] = sql.update([sql.columns.all.map(() => '')], false);
  return {
    Create: sql.insert,
    'Read by key': sql.find,
    'Read and keep from being removed': sql.keep,
    'Read and lock': sql.lock(false),
    'Read and lock in the transaction of a module': sql.lock(true),
    Replace: replace,
    Remove: sql.remove(false),
    ...(canPutInOrder && { 'Store several changes of a row in their order': sql.putInOrder() }),
  };
}

function sortKey(sql: TableSql, property: string): SortKey {
  const column: ColumnMetadata = sql.columns.findColumn(property);
  return { column, ignoresCase: false };
}

function makePage(order: readonly SortKey[], more: Partial<Page> = {}): Page {
  return { conditions: [], order, isDescending: false, after: undefined, limit: 100, ...more };
}

/** Statements with the same text are shown once. */
function writeSection(title: string, statements: Statements): string {
  const uses = new Map<string, string[]>();
  for (const [use, { text }] of Object.entries(statements)) {
    uses.set(text, [...(uses.get(text) ?? []), use]);
  }
  const parts = [...uses].map(
    ([text, titles]) => `### ${titles.join('; ')}\n\n\`\`\`sql\n${format(text)}\n\`\`\`\n`,
  );
  return [`## ${title}\n`, ...parts].join('\n');
}

/** Begins a line with each clause, indented by the parentheses around it. */
function format(sql: string): string {
  const clauses = sql.replaceAll(/\s+/g, ' ').trim().split(CLAUSE_BREAK);
  let depth = 0;
  const lines = clauses.map((clause) => {
    const line = '  '.repeat(depth) + clause;
    depth += clause.split('(').length - clause.split(')').length;
    return line;
  });
  return lines.join('\n');
}
