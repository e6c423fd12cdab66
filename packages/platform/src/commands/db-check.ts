import {
  countRows,
  type Schema,
  type SqliteConnection,
  type StoreMigrations,
  useStoreFile,
} from 'durable-store';
import { CommandError, getStorePath, runCommand } from './command.js';
import { findFaults } from './find-faults.js';

const USAGE = 'Name one file: npm run db:check -- [file]';

/**
 * Checks a store, as of one point in time, without changing it. The argument of the process is the
 * path of a file; by default it is the store of DATABASE_URL.
 *
 * @example
 * ```ts
 * await start(async () => checkStore(schema));
 * ```
 */
export async function checkStore(schema: Schema): Promise<void> {
  await runCommand(USAGE, 1, async (path = getStorePath()) => {
    await useStoreFile(path, 'read', schema, async (file, migrations) => {
      const faults = [...checkMigrations(migrations), ...(await findFaults(file))];
      if (faults.length > 0) throw new CommandError(`${path} is damaged:\n${faults.join('\n')}`);
      await printCounts(file);
    });
    console.log('integrity: ok');
  });
}

/** Prints the last migration, and returns a fault for each one that is unknown here. */
function checkMigrations({ executed, unknown, missing }: StoreMigrations): string[] {
  const next = missing.length > 0 ? `, the next start adds ${missing.join(', ')}` : '';
  console.log(`schema: ${executed.at(-1)?.name ?? 'none'}${next}`);
  return unknown.map((name) => `the schema is newer than this program: ${name}`);
}

async function printCounts(file: SqliteConnection): Promise<void> {
  const tables = await file.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'migrations'
     AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name`,
  );
  for (const { name } of tables) console.log(`${name}: ${await countRows(file, name)}`);
}
