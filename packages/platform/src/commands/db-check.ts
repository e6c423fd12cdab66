import { resolve } from 'node:path';
import { compareMigrations } from '../database/data-source/store-data-source.js';
import type { SqliteConnection } from '../database/sqlite/sqlite-connection.js';
import type { Schema } from '../database/data-source/open-database.js';
import { CommandError, getStorePath, runCommand } from './command.js';
import { findIntegrityFaults, useFile } from './sqlite-file.js';

const USAGE = 'Name one file: npm run db:check -- [file]';

/**
 * Checks a store, as of one moment, without changing it: `npm run db:check -- [file]`.
 */
export async function checkStore(schema: Schema): Promise<void> {
  await runCommand(USAGE, 1, async (path = getStorePath()) => {
    await useFile(path, 'ro', async (file) => {
      await file.all('BEGIN');
      const faults = [
        ...(await checkSchema(file, path, schema)),
        ...(await findIntegrityFaults(file)),
      ];
      if (faults.length > 0) throw new CommandError(`${path} is damaged:\n${faults.join('\n')}`);
      await printCounts(file);
    });
    console.log('integrity: ok');
  });
}

/** Prints the last migration. Resolves with a fault for each migration that is unknown here. */
async function checkSchema(
  file: SqliteConnection,
  path: string,
  schema: Schema,
): Promise<string[]> {
  const tables = await file.all("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'");
  if (tables.length === 0) {
    throw new CommandError(`${resolve(path)} is not a store that this program made`);
  }
  const executed = await file.all<{ name: string }>('SELECT name FROM migrations ORDER BY id');
  const known = schema.migrations.map(({ name }) => name);
  const { unknown, missing } = compareMigrations(known, schema.retired ?? [], executed);
  const next = missing.length > 0 ? `, the next start adds ${missing.join(', ')}` : '';
  console.log(`schema: ${executed.at(-1)?.name ?? 'none'}${next}`);
  return unknown.map((name) => `the schema is newer than this program: ${name}`);
}

async function printCounts(file: SqliteConnection): Promise<void> {
  const tables = await file.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'migrations'
     AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name`,
  );
  for (const { name } of tables) {
    const [row] = await file.all<{ rows: number }>(
      `SELECT count(*) AS rows FROM "${name.replaceAll('"', '""')}"`,
    );
    console.log(`${name}: ${row?.rows}`);
  }
}
