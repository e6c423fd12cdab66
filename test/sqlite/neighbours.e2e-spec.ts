import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import {
  findIntegrityFaults,
  useStoreFile,
} from '../../packages/store/src/commands/sqlite-file.js';
import { schema } from '../fixtures/schema.js';
import { openStore, shortenLockWaits } from '../support/store.js';
import { TestApp } from '../support/fixture-app.js';

/** The bytes of a SQLite file on which each connection that may read has a lock. */
const SHARED_BYTES = '1073741826 1073742335';
const LOCKS = '/proc/locks';

const app = TestApp.forEach();
afterEach(() => {
  jest.restoreAllMocks();
});

function storePath(): string {
  return app.storeUrl.replace('sqlite:', '');
}

/** Lists the locks of this process on the file of the store. */
function listLocks(): string[] {
  const inode = `:${statSync(storePath()).ino} `;
  return readFileSync(LOCKS, 'utf8')
    .split('\n')
    .filter((line) => line.includes(inode) && line.includes(` ${process.pid} `));
}

(existsSync(LOCKS) ? describe : describe.skip)('SQLite has its lock on the store (Linux)', () => {
  it('after a start', () => {
    expect(listLocks()).toEqual([expect.stringContaining(SHARED_BYTES)]);
  });

  it('after another start in the same process was refused', async () => {
    shortenLockWaits();
    await expect(openStore(app.storeUrl)).rejects.toThrow('Another program serves');
    expect(listLocks()).toEqual([expect.stringContaining(SHARED_BYTES)]);
  });
});

const hasShell = spawnSync('sqlite3', ['--version']).status === 0;
if (process.env.CI && !hasShell) throw new Error('CI is set, but this machine has no sqlite3');

(hasShell ? it : it.skip).each([
  ['reads', 'SELECT count(*) FROM plants'],
  ['writes', "INSERT INTO plants (id, name) VALUES (100, 'n')"],
  ['makes a backup', '.backup copy.db'],
  ['makes a compact copy', "VACUUM INTO 'copy.db'"],
  ['wants another journal', 'PRAGMA journal_mode = DELETE'],
  ['makes a checkpoint', 'PRAGMA wal_checkpoint(TRUNCATE)'],
])('creates go on, and none is lost, while the shell sqlite3 %s', async (_, command) => {
  expect((await app.create('{"id":1,"name":"n"}')).status).toBe(200);
  const folder = dirname(storePath());
  const shell = promisify(execFile)('sqlite3', [storePath(), command], { cwd: folder });
  // A refusal is an answer too.
  await shell.catch(() => undefined);
  expect((await app.create('{"id":2,"name":"n"}')).status).toBe(200);
  await app.restart({}, async () => {
    expect(await useStoreFile(storePath(), 'read', schema, findIntegrityFaults)).toEqual([]);
  });
  expect((await app.rows()).map(({ id }) => id)).toEqual(expect.arrayContaining(['1', '2']));
});
