import { copyStore, type Schema } from 'durable-store';
import { type Progress, showProgress } from '../observability/progress.js';
import { CommandError, runCommand } from './command.js';

const USAGE =
  'Name two stores as in DATABASE_URL, which is the second by default: npm run db:copy -- <from> [to]';

/**
 * Copies a store into another. The arguments of the process are the URLs of both; the second is
 * DATABASE_URL by default. See {@link copyStore}.
 *
 * @example
 * ```ts
 * await start(async () => copyStores(schema));
 * ```
 */
export async function copyStores(schema: Schema): Promise<void> {
  await runCommand(USAGE, 2, async (from, to = process.env.DATABASE_URL) => {
    if (from === undefined || to === undefined) throw new CommandError(USAGE);
    let progress: Progress | undefined;
    const copying = copyStore(schema, from, to, (done, total) => {
      progress = { done, total, unit: 'rows' };
    });
    for (const [table, rows] of await showProgress('Copying', () => progress, copying)) {
      console.log(`${table}: ${rows}, the same in both`);
    }
  });
}
