import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { AS_ORDINARY_USER } from '../../support/ordinary-user.js';
import { Program } from '../../support/program.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { querySqlite } from '../../support/query-sqlite.js';

const USER = userInfo().username;
const PERMISSION = `the user ${USER}: change its owner or its mode, or set DATABASE_URL to another file`;

let folder: ProgramFolder;

beforeEach(async () => {
  folder = await ProgramFolder.create();
  // Makes sure that no file takes the place of the folder.
  await mkdir(folder.file('data'));
});

afterEach(async () => {
  await chmod(folder.file('data'), 0o755);
  await folder.remove();
});

/** Starts the program on a store, and expects it to print one sentence and to leave no file. */
async function expectRefusal(path: string, sentence: string): Promise<void> {
  const files = (): string[] => readdirSync(folder.path, { recursive: true, encoding: 'utf8' });
  const before = files();
  const env = { DATABASE_URL: `sqlite:${path}`, ACCESS_TOKENS: 't' };
  const program = Program.startUnder(AS_ORDINARY_USER, folder.path, env);
  expect(await program.exited()).toBe(1);
  expect(program.errors).toBe(`The store cannot be used: ${sentence}\n`);
  expect(program.output).toBe('');
  expect(files()).toEqual(before);
}

describe('a start on a store that cannot be written is refused, and says why, for', () => {
  it.each(['', '-wal', '-shm', '-lock'])('a read-only file plants.db%s', async (suffix) => {
    const store = folder.file('data/plants.db');
    await querySqlite(store, 'PRAGMA journal_mode = WAL');
    if (suffix !== '') writeFileSync(store + suffix, '');
    chmodSync(store + suffix, 0o444);
    await expectRefusal('data/plants.db', `${store}${suffix} cannot be written by ${PERMISSION}`);
  });

  it('a read-only folder', async () => {
    chmodSync(folder.file('data'), 0o555);
    await expectRefusal(
      'data/plants.db',
      `${folder.file('data')} cannot be written by ${PERMISSION}`,
    );
  });

  it('a folder that cannot be created', async () => {
    chmodSync(folder.file('data'), 0o555);
    const missing = folder.file('data/deep');
    const sentence = `the folder ${missing} cannot be created by ${PERMISSION}`;
    await expectRefusal('data/deep/down/plants.db', sentence);
  });

  it('a folder in its place', async () => {
    await expectRefusal('data', `${folder.file('data')} is a folder, and not a file`);
  });

  it('a file as its folder', async () => {
    writeFileSync(folder.file('data/file'), '');
    const file = folder.file('data/file');
    const reason = `cannot be created by the user ${USER}: there is a file in its place`;
    await expectRefusal('data/file/plants.db', `the folder ${file} ${reason}`);
  });

  (process.platform === 'linux' ? it : it.skip)('a folder below /proc (Linux)', async () => {
    const reason = 'its file system takes no folders: set DATABASE_URL to a file on another';
    const sentence = `the folder /proc/none cannot be created by the user ${USER}: ${reason}`;
    await expectRefusal('/proc/none/deep/plants.db', sentence);
  });

  (mayMount() ? it : it.skip)('a read-only file system (root)', async () => {
    const mounted = folder.file('data');
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', mounted]);
    try {
      const reason = 'the file system is read-only: set DATABASE_URL to a file on another';
      const missing = `${mounted}/deep`;
      const sentence = `the folder ${missing} cannot be created by the user ${USER}: ${reason}`;
      await expectRefusal('data/deep/plants.db', sentence);
      await expectRefusal(
        'data/plants.db',
        `${mounted} cannot be written by the user ${USER}: ${reason}`,
      );
    } finally {
      execFileSync('umount', [mounted]);
    }
  });
});

/** Whether file systems may be mounted, as by root. */
function mayMount(): boolean {
  return spawnSync('unshare', ['--mount', 'true']).status === 0;
}
