import { copyStore, type Schema } from 'durable-store';
import { CommandError, runCommand } from './command.js';

const USAGE =
  'Name two stores as in DATABASE_URL, which is the second by default: npm run db:copy -- <from> [to]';

/**
 * Copies a store into another: `npm run db:copy -- <from> [to]`. See {@link copyStore}.
 */
export async function copyStores(schema: Schema): Promise<void> {
  await runCommand(USAGE, 2, async (from, to = process.env.DATABASE_URL) => {
    if (from === undefined || to === undefined) throw new CommandError(USAGE);
    for (const [table, rows] of await copyStore(schema, from, to)) {
      console.log(`${table}: ${rows}, the same in both`);
    }
  });
}
