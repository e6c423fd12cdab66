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
const MAX_ARGUMENTS = 1;

/**
 * Copies the store, as of one point in time, while the program serves from it. The argument of the
 * process is the path of the copy. No file has this path until the copy is complete, sound and on
 * disk.
 *
 * @example
 * ```ts
 * await start(async () => backUpStore(schema));
 * ```
 */
export async function backUpStore(schema: Schema): Promise<void> {
  await runCommand(USAGE, MAX_ARGUMENTS, async (target) => {
    if (target === undefined) throw new CommandError(USAGE);
    // SQLite would use a file with a name such as store.db-wal as a part of store.db.
    assertNoCompanion(target);
    // link() refuses an existing file too, but only when the whole copy is made.
    if (existsSync(target)) {
      throw new CommandError(`${target} exists and is not overwritten: name another file`);
    }
    const partial = `${target}.${process.pid}.partial`;
    // SQLite creates the copy with the permissions that this leaves: only this user may read it.
    process.umask(0o077);
    try {
      await copyStore(schema, partial);
      await assertSound(schema, partial);
      await publish(partial, target);
    } finally {
      await rm(partial, { force: true });
      // An interrupted VACUUM may leave its journal.
      await rm(`${partial}-journal`, { force: true });
    }
    console.log(`${target}: complete and sound`);
  });
}

/** Copies the store to a new file, and flushes the file to disk. */
async function copyStore(schema: Schema, partial: string): Promise<void> {
  // A file that is opened to 'read' is in a transaction, where SQLite refuses VACUUM.
  await useStoreFile(getStorePath(), 'write', schema, async (file) => {
    const total = await measureContents(file);
    const readProgress = (): Progress => ({ done: measureFile(partial), total, unit: 'bytes' });
    // A single statement reads a snapshot, even while rows are created.
    const copying = file.all('VACUUM INTO ?', [resolve(partial)]);
    await showProgress('Copying', readProgress, copying);
    // useStoreFile() still handles signals here. Later, a signal would end the program at once, and
    // leave the partial file.
    await flush(partial);
  });
}

/** @returns 0 while SQLite has not created the file yet */
function measureFile(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** @throws CommandError when the copy has faults */
async function assertSound(schema: Schema, partial: string): Promise<void> {
  const faults = await useStoreFile(partial, 'read', schema, findFaults);
  if (faults.length > 0) {
    throw new CommandError(`The copy is damaged, check the disk: ${faults.join('; ')}`);
  }
}

/** Gives the complete copy its own name, in addition to the temporary one. */
async function publish(partial: string, target: string): Promise<void> {
  // Unlike rename(), link() never overwrites a file.
  await link(partial, target);
  try {
    await flushFolder(dirname(target));
  } catch (error) {
    // A power cut could remove the name again, so the command fails, and leaves no file.
    await rm(target);
    throw error;
  }
}
