import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import {
  cp,
  mkdir,
  open,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { promisify } from 'node:util';
import { schema } from '../../../src/schema.js';
import { Faults } from 'durable-rest/testing';
import { type Ended, type Program, ProgramFolder } from '../../support/program.js';
import { querySqlite } from '../../support/store.js';

const STORE = 'sqlite:plants.db';
const CLIENTS = 16;

const BACKUPS = new URL('../../../docs/backups.md', import.meta.url);
const ROOT = new URL('../../../', import.meta.url).pathname;
/** The commands of the document that replace the store by a copy, for the folder of the test. */
const RESTORE = readRestore();

let folder: ProgramFolder;
let program: Program;

beforeAll(async () => {
  folder = await ProgramFolder.create();
  program = start();
});
afterAll(() => folder.remove());

function start(): Program {
  return folder.serve({ DATABASE_URL: STORE });
}

function readRestore(): string {
  const text = readFileSync(BACKUPS, 'utf8');
  const [commands = ''] =
    /^ *set -e\n *cd \/var\/lib\/plant-store\n[^]*? mv restored\.db plants\.db$/m.exec(text) ?? [];
  return commands
    .replace('cd /var/lib/plant-store', '')
    .replace(/systemctl stop .*/, '')
    .replaceAll('sudo -u plant-store ', '')
    .replace('/opt/plant-store/', ROOT)
    .replace('/var/backups/plant-store/2026-01-31.db', 'copy.db');
}

/** Runs a built command in the folder of the store. */
function run(command: string, args: string[]): Promise<Ended> {
  return folder.run(command, args, { DATABASE_URL: STORE });
}

async function idsIn(store: string): Promise<Set<number>> {
  const rows = await querySqlite(folder.file(store), 'SELECT id FROM plants');
  return new Set((rows as { id: number }[]).map(({ id }) => id));
}

describe('a backup taken while plants are being created', () => {
  let acknowledged: number[];
  let backup: Ended;

  beforeAll(async () => {
    let lastId = 0;
    let isOver = false;
    const ids: number[] = [];
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!isOver) {
        const id = ++lastId;
        if ((await program.create(id)) === 200) ids.push(id);
      }
    });
    while (ids.length < 300) await program.send('GET', '/health/live');
    acknowledged = [...ids];
    backup = await run('db-backup', ['copy.db']);
    isOver = true;
    await Promise.all(clients);
  });
  afterAll(() => program.end());

  it('is complete, says so, and may be read by its owner only', async () => {
    expect(backup).toMatchObject({
      exitCode: 0,
      output: expect.stringMatching(/^copy\.db: .+\n$/),
    });
    const files = await readdir(folder.path);
    expect(files.filter((name) => name.startsWith('copy'))).toEqual(['copy.db']);
    expect((await stat(folder.file('copy.db'))).mode & 0o777).toBe(0o600);
  });

  it('passes the check, as does the store while it serves', async () => {
    const { output, ...rest } = await run('db-check', ['copy.db']);
    expect(rest).toEqual({ exitCode: 0, errors: '' });
    expect(output).toContain(`plants: ${(await idsIn('copy.db')).size}\n`);
    expect(output).toContain(`schema: ${schema.migrations.at(-1)?.name ?? ''}\n`);
    expect(output).toMatch(/^integrity: ok$/m);
    expect(await run('db-check', [])).toMatchObject({ exitCode: 0 });
  });

  it('is not written over', async () => {
    const before = await readFile(folder.file('copy.db'));
    expect((await run('db-backup', ['copy.db'])).errors).toMatch(/^copy\.db exists/);
    expect(before.equals(await readFile(folder.file('copy.db')))).toBe(true);
  });

  it.each(['first', 'second'])('is the store after the %s documented restore', async () => {
    // So that the write-ahead log of the former store stays.
    await program.end('SIGKILL');
    await promisify(execFile)('sh', ['-c', RESTORE], { cwd: folder.path });
    program = start();
    expect(await program.create(acknowledged.at(-1) ?? 0)).toBe(40901);
    // Also after another restore: nothing of the former store is left.
    expect(await program.create(-1)).toBe(200);
    const restored = await idsIn('plants.db');
    expect(acknowledged.filter((id) => !restored.has(id))).toEqual([]);
    const [former = ''] = (await readdir(folder.path)).filter((name) => name.startsWith('before'));
    const moved = await idsIn(`${former}/plants.db`);
    expect(acknowledged.filter((id) => !moved.has(id))).toEqual([]);
  });

  it('does not replace the store if it is damaged', async () => {
    await writeFile(
      folder.file('damaged.db'),
      (await readFile(folder.file('copy.db'))).fill(7, 8_192),
    );
    const before = await readdir(folder.path);
    const commands = RESTORE.replace('copy.db', 'damaged.db');
    await expect(promisify(execFile)('sh', ['-c', commands], { cwd: folder.path })).rejects.toThrow(
      'restored.db is damaged:',
    );
    expect(await readdir(folder.path)).toEqual([...before, 'restored.db'].sort());
    await rm(folder.file('restored.db'));
  });
});

it.each<readonly [what: string, command: string, args: string[], message: RegExp, url: string]>([
  ['no name', 'db-backup', [], /^Name the file/, STORE],
  ['a wrong URL', 'db-backup', ['new.db'], /^DATABASE_URL must/, 'mysql://me:pass@host'],
  ['PostgreSQL', 'db-backup', ['new.db'], /use pg_dump/, 'postgres://me:pass@host/plants'],
  ['no store to copy', 'db-backup', ['new.db'], /^There is no store at /, 'sqlite:none.db'],
  // A start would delete this file as the journal of an interrupted commit.
  ['a file beside the store', 'db-backup', ['plants.db-journal'], /a file of another store/, STORE],
  ['a missing store', 'db-check', ['none.db'], /^There is no store/, STORE],
  ['an option', 'db-backup', ['--help'], /^Name the file/, STORE],
  ['an option', 'db-check', ['--help'], /^Name one file/, STORE],
  ['an option', 'db-copy', ['--help'], /^Name two stores/, STORE],
  ['an option', 'new-token', ['--help'], /^Name the client/, STORE],
])('%s: %s %p fails with one line and leaves no file', async (_, command, args, message, url) => {
  const before = await readdir(folder.path);
  const { exitCode, output, errors } = await folder.run(command, args, { DATABASE_URL: url });
  expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' });
  expect(errors).toMatch(message);
  expect(errors).toMatch(/^[^\n]+\n$/);
  expect(errors).not.toContain('pass');
  // The command may have completed the store after a crash.
  expect(before).toEqual(expect.arrayContaining(await readdir(folder.path)));
});

/** SQL that makes a SQLite file which is no store of this program; of an empty file there is none. */
const FOREIGN: readonly (readonly [what: string, sql: string])[] = [
  ['an empty file', ''],
  ['a database of another program', 'CREATE TABLE plants (id, name, tag)'],
  ['a database with another table of migrations', 'CREATE TABLE migrations (version)'],
  ['a database without a migration', 'CREATE TABLE migrations (id, timestamp, name)'],
  [
    'the store of another service',
    "CREATE TABLE migrations (id, timestamp, name); INSERT INTO migrations VALUES (1, 1, 'CreateBooks1')",
  ],
  [
    'that of another service with the same packages',
    "CREATE TABLE migrations (id, timestamp, name); INSERT INTO migrations VALUES (1, 1, 'CreateBooks1'), (2, 2, 'CreateJobRuns1795400000000')",
  ],
];

describe.each(FOREIGN)('%s is no store:', (_, sql) => {
  it.each([
    ['db-backup', ['new.db'], 'sqlite:foreign/plants.db'],
    ['db-check', ['foreign/plants.db'], STORE],
    ['db-copy', ['sqlite:foreign/plants.db'], 'sqlite:new.db'],
  ])('%s refuses it, changes nothing and leaves no file', async (command, args, url) => {
    const place = await ProgramFolder.create();
    await mkdir(place.file('foreign'));
    await writeFile(place.file('foreign/plants.db'), '');
    if (sql !== '') execFileSync('sqlite3', [place.file('foreign/plants.db'), sql]);
    const before = await readFile(place.file('foreign/plants.db'));
    const ended = await place.run(command, args, { DATABASE_URL: url });
    expect({ exitCode: ended.exitCode, output: ended.output }).toEqual({ exitCode: 1, output: '' });
    expect(ended.errors).toMatch(
      /^[^\n]*foreign\/plants\.db is not a store that this program made: .+\n$/,
    );
    expect(await readdir(place.path, { recursive: true })).toEqual([
      'foreign',
      'foreign/plants.db',
    ]);
    expect(await readFile(place.file('foreign/plants.db'))).toEqual(before);
    await place.remove();
  });
});

(Faults.areSupported ? it : it.skip).each([
  ['the copy', '.partial'],
  ['its folder', '/flushed'],
])('a backup succeeds only once %s is flushed (Linux, cc)', async (_, suffix) => {
  const place = await ProgramFolder.create();
  const faults = new Faults(place.path, suffix);
  faults.set({ flushFailureStep: 1 });
  await mkdir(place.file('flushed'));
  const env = { ...faults.env, DATABASE_URL: `sqlite:${folder.file('copy.db')}` };
  const ended = await place.run('db-backup', ['flushed/copy.db'], env);
  expect(ended).toMatchObject({ exitCode: 1, output: '' });
  expect(await readdir(place.file('flushed'))).toEqual([]);
  await place.remove();
});

/** Changes the file at this path. */
type Change = (path: string) => Promise<unknown>;

describe('a check', () => {
  it('leaves a store that is not in use as it is, without a file beside it', async () => {
    await cp(folder.file('copy.db'), folder.file('alone/plants.db'));
    const before = await readFile(folder.file('alone/plants.db'));
    expect(await run('db-check', ['alone/plants.db'])).toMatchObject({ exitCode: 0 });
    expect(await readdir(folder.file('alone'))).toEqual(['plants.db']);
    expect(before.equals(await readFile(folder.file('alone/plants.db')))).toBe(true);
  });

  it.each<readonly [what: string, exitCode: number, said: RegExp, change: Change]>([
    ['a damaged page', 1, /changed\.db is damaged:/, (file) => damage(file, 3 * 4096 + 10)],
    ['pages that SQLite cannot count', 1, /changed\.db is damaged:/, damageLeaves],
    ['a damaged header', 1, /SQLITE_NOTADB/, (file) => damage(file, 0)],
    ['an empty file', 1, /is not a store that this program made/, truncate],
    [
      'a store that a newer program has changed',
      1,
      /the schema is newer than this program: Later9/,
      (file) => querySqlite(file, "INSERT INTO migrations (timestamp, name) VALUES (9, 'Later9')"),
    ],
    [
      'a store of an older program',
      0,
      /the next start adds \w+/,
      (file) => querySqlite(file, 'DELETE FROM migrations WHERE id > 1'),
    ],
    // It would look like a damaged file without its journal, which this command cannot apply.
    ['a commit that its journal undoes', 1, /SQLITE_READONLY/, interruptCommit],
  ])('of %s exits %i', async (_, exitCode, said, change) => {
    await cp(folder.file('copy.db'), folder.file('changed.db'));
    await change(folder.file('changed.db'));
    const ended = await run('db-check', ['changed.db']);
    expect(ended.exitCode).toBe(exitCode);
    expect(ended.output + ended.errors).toMatch(said);
  });
});

/** Replaces a file by one with half a commit, and puts the journal of the commit beside it. */
function interruptCommit(path: string): Promise<unknown> {
  const other = `${path}.writing`;
  copyFileSync(path, other);
  const input = `PRAGMA journal_mode = DELETE;
PRAGMA cache_size = 1;
BEGIN;
UPDATE plants SET name = hex(randomblob(300));
.shell cp ${other} ${path} && cp ${other}-journal ${path}-journal
`;
  execFileSync('sqlite3', [other], { input });
  return Promise.resolve();
}

/** Adds rows, and damages so many of their pages that SQLite ends its list of faults before the rows. */
async function damageLeaves(path: string): Promise<void> {
  await querySqlite(
    path,
    `WITH RECURSIVE ids (id) AS (SELECT 1000000 UNION ALL SELECT id + 1 FROM ids LIMIT 20000)
     INSERT INTO plants (id, name) SELECT id, 'plant number ' || id FROM ids`,
  );
  await querySqlite(path, 'PRAGMA wal_checkpoint(TRUNCATE)');
  const pages = (await stat(path)).size / 4096;
  for (let page = Math.floor(pages / 2); page < pages; page += 3) await damage(path, page * 4096);
}

async function damage(path: string, at: number): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(Buffer.alloc(200, 0xff), 0, 200, at);
  await file.close();
}
