import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { AS_ORDINARY_USER } from '../../support/ordinary-user.js';
import { Program } from '../../support/program.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { querySqlite } from '../../support/query-sqlite.js';
import { hasTool, mayMount, mountMemory, unmount } from '../../support/tools.js';

const itWithMount = hasTool('right to mount', mayMount) ? it : it.skip;

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
async function expectRefusal(path: string, reason: string): Promise<void> {
  const files = (): string[] => readdirSync(folder.path, { recursive: true, encoding: 'utf8' });
  const before = files();
  const env = { DATABASE_URL: `sqlite:${path}`, ACCESS_TOKENS: 't' };
  const program = Program.startUnder(AS_ORDINARY_USER, folder.path, env);
  expect(await program.exited()).toBe(1);
  expect(program.errors).toBe(`The user ${userInfo().username} cannot use the store: ${reason}\n`);
  expect(program.output).toBe('');
  expect(files()).toEqual(before);
}

describe('a start on a store that cannot be written is refused, and says why, for', () => {
  it.each([
    ['', 'open'],
    ['-wal', 'access'],
    ['-shm', 'access'],
    ['-lock', 'access'],
  ])('a read-only file plants.db%s', async (suffix, call) => {
    const store = folder.file('data/plants.db');
    await querySqlite(store, 'PRAGMA journal_mode = WAL');
    if (suffix !== '') writeFileSync(store + suffix, '');
    chmodSync(store + suffix, 0o444);
    const reason = `EACCES: permission denied, ${call} '${store}${suffix}'`;
    await expectRefusal('data/plants.db', reason);
  });

  it('a read-only folder', async () => {
    chmodSync(folder.file('data'), 0o555);
    const reason = `EACCES: permission denied, open '${folder.file('data/plants.db')}'`;
    await expectRefusal('data/plants.db', reason);
  });

  it('a folder that cannot be created', async () => {
    chmodSync(folder.file('data'), 0o555);
    const reason = `EACCES: permission denied, mkdir '${folder.file('data/deep')}'`;
    await expectRefusal('data/deep/down/plants.db', reason);
  });

  it('a folder in its place', async () => {
    const reason = `EISDIR: illegal operation on a directory, open '${folder.file('data')}'`;
    await expectRefusal('data', reason);
  });

  it('a file as its folder', async () => {
    writeFileSync(folder.file('data/file'), '');
    const reason = `EEXIST: file already exists, mkdir '${folder.file('data/file')}'`;
    await expectRefusal('data/file/plants.db', reason);
  });

  (process.platform === 'linux' ? it : it.skip)('a folder below /proc (Linux)', async () => {
    const reason = "ENOENT: no such file or directory, mkdir '/proc/none'";
    await expectRefusal('/proc/none/deep/plants.db', reason);
  });

  itWithMount('a read-only file system (root)', async () => {
    const mounted = folder.file('data');
    mountMemory(mounted, 'ro');
    try {
      const reason = (call: string): string => `EROFS: read-only file system, ${call}`;
      await expectRefusal('data/deep/plants.db', reason(`mkdir '${mounted}/deep'`));
      await expectRefusal('data/plants.db', reason(`open '${mounted}/plants.db'`));
    } finally {
      unmount(mounted);
    }
  });
});
