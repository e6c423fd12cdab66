import { existsSync, statSync } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  assertNoCompanion,
  flush,
  flushFolder,
  measureContents,
  type Schema,
  useStoreFile,
} from 'durable-store';
import { type Progress, showProgress } from '../observability/progress.js';
import { CommandError, getStorePath, runCommand } from './command.js';
import { findFaults } from './find-faults.js';

const USAGE = 'Name the file to create: npm run db:backup -- <file>';

/**
 * Copies the store, as of one point in time, while the program serves from it. The path of the copy
 * is the argument of the process. The copy appears under its name once it is complete, sound and on
 * disk.
 *
 * @example
 * ```ts
 * await start(async () => backUpStore(schema));
 * ```
 */
export async function backUpStore(schema: Schema): Promise<void> {
  await runCommand(USAGE, 1, async (target) => {
    if (target === undefined) throw new CommandError(USAGE);
    assertNoCompanion(target);
    if (existsSync(target)) {
      throw new CommandError(`${target} exists and is not overwritten: name another file`);
    }
    const partial = `${target}.${process.pid}.partial`;
    // Only this user may read the copy.
    process.umask(0o077);
    try {
      await useStoreFile(getStorePath(), 'write', schema, async (file) => {
        const total = await measureContents(file);
        const read = (): Progress => ({ done: measureFile(partial), total, unit: 'bytes' });
        // A single statement reads a snapshot, even while rows are created.
        const copying = file.all('VACUUM INTO ?', [resolve(partial)]);
        await showProgress('Copying', read, copying);
        // No signal ends the program here, which would leave the partial file.
        await flush(partial);
      });
      const faults = await useStoreFile(partial, 'read', schema, findFaults);
      if (faults.length > 0) {
        throw new CommandError(`The copy is damaged, check the disk: ${faults.join('; ')}`);
      }
      // Unlike rename(), link() never overwrites a file.
      await link(partial, target);
      await flushFolder(dirname(target)).catch(async (error: unknown) => {
        await rm(target);
        throw error;
      });
    } finally {
      for (const suffix of ['', '-journal']) await rm(partial + suffix, { force: true });
    }
    console.log(`${target}: complete and sound`);
  });
}

function measureFile(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
