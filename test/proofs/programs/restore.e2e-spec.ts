import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  chmod,
  lstat,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import sqlite3 from 'sqlite3';
import type { Program } from '../../support/program.js';
import { type Ended, ProgramFolder } from '../../support/program-folder.js';
import { querySqlite } from '../../support/query-sqlite.js';
import { TOKEN } from '../../support/token.js';

const ENV = { ACCESS_TOKENS: TOKEN, DATABASE_URL: 'sqlite:data/plants.db' };
const COUNT = 'SELECT count(*) AS plants FROM plants';

let folder: ProgramFolder;
let program: Program;

beforeEach(async () => {
  folder = await ProgramFolder.create();
  program = folder.start(ENV);
  await createPlant(1);
  expect(await run('db-backup', 'copy.db')).toMatchObject({ exitCode: 0 });
  await createPlant(2);
});

afterEach(() => folder.remove());

async function createPlant(id: number): Promise<void> {
  const response = await fetch(`${await program.listening()}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ id, name: 'n' }),
  });
  expect(response.status).toBe(200);
}

async function run(command: string, ...args: string[]): Promise<Ended> {
  return await folder.run(command, args, { DATABASE_URL: ENV.DATABASE_URL });
}

async function stop(): Promise<void> {
  program.kill('SIGKILL');
  await program.exited();
}

async function countPlants(file: string): Promise<unknown> {
  const [row] = (await querySqlite(folder.file(file), COUNT)) as unknown[];
  return row;
}

/** Lists the names of the files of the store, and of stores that were kept. */
async function filesOfStore(): Promise<string[]> {
  const names = await readdir(folder.file('data'));
  return names.filter((name) => !name.endsWith('-lock')).sort();
}

async function expectRefused(reason: RegExp, file = 'copy.db'): Promise<void> {
  const before = await filesOfStore();
  const ended = await run('db-restore', file);
  expect(ended).toMatchObject({ exitCode: 1, output: '' });
  expect(ended.errors).toMatch(reason);
  expect(await filesOfStore()).toEqual(before);
}

describe('db:restore', () => {
  it('puts the copy in the place of the store, which is kept with its log', async () => {
    await stop();
    const { exitCode, output } = await run('db-restore', 'copy.db');
    expect(exitCode).toBe(0);
    const [, kept = ''] = /is kept as (\S+)\n/.exec(output) ?? [];
    expect(await filesOfStore()).toEqual(
      expect.arrayContaining(['plants.db', kept.replace('data/', '')]),
    );
    expect(await filesOfStore()).not.toContain('plants.db-wal');
    expect(await countPlants('data/plants.db')).toEqual({ plants: 1 });
    expect(await countPlants(kept)).toEqual({ plants: 2 });
    program = folder.start(ENV);
    await createPlant(2);
  });

  it('makes a store where there is none', async () => {
    await stop();
    await rm(folder.file('data'), { recursive: true });
    const { exitCode, output } = await run('db-restore', 'copy.db');
    expect({ exitCode, output }).toEqual({
      exitCode: 0,
      output: 'data/plants.db is restored from copy.db: start the program\n',
    });
    program = folder.start(ENV);
    await createPlant(2);
  });

  it('replaces a store that is damaged', async () => {
    await stop();
    await writeFile(folder.file('data/plants.db'), 'not a database'.repeat(1_000));
    expect(await run('db-restore', 'copy.db')).toMatchObject({ exitCode: 0 });
    expect(await countPlants('data/plants.db')).toEqual({ plants: 1 });
  });

  it('replaces the store that a link leads to, and keeps the link', async () => {
    await stop();
    await rename(folder.file('data/plants.db'), folder.file('plants.db'));
    await symlink('../plants.db', folder.file('data/plants.db'));
    expect(await run('db-restore', 'copy.db')).toMatchObject({ exitCode: 0 });
    expect((await lstat(folder.file('data/plants.db'))).isSymbolicLink()).toBe(true);
    expect(await countPlants('plants.db')).toEqual({ plants: 1 });
  });

  it('keeps the permissions of the store, also if the copy is read-only', async () => {
    await stop();
    await chmod(folder.file('data/plants.db'), 0o600);
    await chmod(folder.file('copy.db'), 0o444);
    expect(await run('db-restore', 'copy.db')).toMatchObject({ exitCode: 0 });
    expect((await stat(folder.file('data/plants.db'))).mode & 0o777).toBe(0o600);
    await rm(folder.file('data'), { recursive: true });
    expect(await run('db-restore', 'copy.db')).toMatchObject({ exitCode: 0 });
    expect((await stat(folder.file('data/plants.db'))).mode & 0o777).toBe(0o644);
  });

  it('refuses while a program serves from the store, or has it open', async () => {
    await expectRefused(/^checking copy\.db\nA program serves from .*plants\.db: stop it first\n$/);
    await createPlant(3);
    await stop();
    const other = new sqlite3.Database(folder.file('data/plants.db'));
    await new Promise((resolve) => other.all(COUNT, resolve));
    await expectRefused(/\nAnother program has .*plants\.db open: stop it first\n$/);
    await new Promise((resolve) => other.close(resolve));
    expect(await countPlants('data/plants.db')).toEqual({ plants: 3 });
  });

  it('refuses a copy that is missing, damaged, newer, or no store', async () => {
    await stop();
    await expectRefused(/There is no store at .*missing\.db\n$/, 'missing.db');
    const copy = await readFile(folder.file('copy.db'));
    await writeFile(folder.file('damaged.db'), copy.fill(1, 4_100, 8_000));
    await expectRefused(/damaged\.db (is not restored|cannot be read)/, 'damaged.db');
    await querySqlite(folder.file('other.db'), 'CREATE TABLE t (a)');
    await expectRefused(/not a store that this program made\n$/, 'other.db');
    await querySqlite(
      folder.file('copy.db'),
      "INSERT INTO migrations (timestamp, name) VALUES (9, 'Later9')",
    );
    await expectRefused(/copy\.db is not restored:\nthe schema is newer than this program: Later9/);
  });

  it('needs the name of a copy, and leaves PostgreSQL to its own tools', async () => {
    expect((await run('db-restore')).errors).toBe(
      'Name the copy to restore: npm run db:restore -- <file>\n',
    );
    const env = { DATABASE_URL: 'postgres://me@localhost/plants' };
    expect((await folder.run('db-restore', ['copy.db'], env)).errors).toMatch(
      /use pg_dump.*pg_restore/,
    );
  });
});
