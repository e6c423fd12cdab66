import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { promisify } from 'node:util';
import { schema } from '../../../src/schema.js';
import { Faults } from '../../support/faults.js';
import type { Program } from '../../support/program.js';
import { type Ended, ProgramFolder } from '../../support/program-folder.js';
import { querySqlite } from '../../support/store.js';
import { TOKEN } from '../../support/token.js';

const CLIENTS = 16;

/** The commands of docs/operations.md between the stop and the start of the program. */
const RESTORE = 'mkdir before; mv plants.db* before/; cp -p copy.db plants.db';

let folder: ProgramFolder;
let program: Program;

beforeAll(async () => {
  folder = await ProgramFolder.create();
  program = start('plants.db');
});

afterAll(() => folder.remove());

function start(store: string): Program {
  return folder.start({ ACCESS_TOKENS: TOKEN, DATABASE_URL: `sqlite:${store}` });
}

/** Runs a built command in the folder of the store. */
async function run(
  command: string,
  args: string[],
  url = 'sqlite:plants.db',
  others: Record<string, string> = {},
): Promise<Ended> {
  return await folder.run(command, args, { DATABASE_URL: url, ...others });
}

async function create(url: string, id: number): Promise<number> {
  const response = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ id, name: `plant ${id}` }),
  });
  const { error = response.status } = (await response.json()) as { error?: number };
  return error;
}

/** Creates plants until it is stopped, and records the acknowledged ids. */
class Load {
  readonly acknowledged: number[] = [];
  private isStopped = false;
  private lastId = 0;
  private readonly clients: Promise<unknown>;
  private moreThan: { count: number; resolve: () => void } | undefined;

  constructor(private readonly url: string) {
    this.clients = Promise.all(Array.from({ length: CLIENTS }, () => this.client()));
  }

  async created(count: number): Promise<void> {
    await new Promise<void>((resolve) => (this.moreThan = { count, resolve }));
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.clients;
  }

  private async client(): Promise<void> {
    while (!this.isStopped) {
      const id = ++this.lastId;
      if ((await create(this.url, id)) === 200) this.acknowledged.push(id);
      if (this.acknowledged.length >= (this.moreThan?.count ?? Infinity)) this.moreThan?.resolve();
    }
  }
}

async function idsIn(store: string): Promise<Set<number>> {
  return await new Promise((resolve, reject) => {
    const database = new sqlite3.Database(folder.file(store), sqlite3.OPEN_READONLY);
    database.all<{ id: number }>('SELECT id FROM plants', (error, rows) => {
      database.close();
      if (error === null) resolve(new Set(rows.map(({ id }) => id)));
      else reject(error);
    });
  });
}

describe('a backup taken while plants are being created', () => {
  let acknowledged: number[];
  let backup: Ended;

  beforeAll(async () => {
    const load = new Load(await program.listening());
    await load.created(300);
    acknowledged = [...load.acknowledged];
    backup = await run('db-backup', ['copy.db']);
    await load.stop();
  });

  it('is complete, and says so', async () => {
    expect(backup).toMatchObject({
      exitCode: 0,
      output: expect.stringMatching(/^copy\.db: .+\n$/),
    });
    const files = await readdir(folder.path);
    expect(files.filter((name) => name.startsWith('copy'))).toEqual(['copy.db']);
  });

  it('holds every plant that was acknowledged before', async () => {
    const copied = await idsIn('copy.db');
    expect(acknowledged.filter((id) => !copied.has(id))).toEqual([]);
  });

  it('passes the check, as does the store while it serves', async () => {
    const copied = await idsIn('copy.db');
    const { output, ...rest } = await run('db-check', ['copy.db']);
    expect(rest).toEqual({ exitCode: 0, errors: '' });
    expect(output).toContain(`plants: ${copied.size}\n`);
    expect(output).toContain(`schema: ${schema.migrations.at(-1)?.name ?? ''}\n`);
    expect(output).toMatch(/^integrity: ok$/m);
    expect(await run('db-check', [])).toMatchObject({ exitCode: 0 });
  });

  it('is not written over', async () => {
    const before = await readFile(folder.file('copy.db'));
    expect((await run('db-backup', ['copy.db'])).errors).toMatch(/^copy\.db exists/);
    expect(before.equals(await readFile(folder.file('copy.db')))).toBe(true);
  });

  it('may be read by its owner only', async () => {
    expect((await stat(folder.file('copy.db'))).mode & 0o777).toBe(0o600);
  });

  it('is a store after the documented commands, and the former store is kept', async () => {
    program.kill('SIGTERM');
    expect(await program.exited()).toBe(0);
    await promisify(execFile)('sh', ['-ec', RESTORE], { cwd: folder.path });
    program = start('plants.db');
    const url = await program.listening();
    expect(await create(url, acknowledged.at(-1) ?? 0)).toBe(40901);
    expect(await create(url, -1)).toBe(200);
    program.kill('SIGTERM');
    expect(await program.exited()).toBe(0);
    const ids = await idsIn('plants.db');
    expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
    expect((await idsIn('before/plants.db')).size).toBeGreaterThanOrEqual(acknowledged.length);
  });
});

const REFUSALS: readonly {
  what: string;
  command: string;
  args: string[];
  message: RegExp;
  url?: string;
}[] = [
  { what: 'no name', command: 'db-backup', args: [], message: /^Name the file/ },
  {
    what: 'a wrong URL',
    command: 'db-backup',
    args: ['new.db'],
    message: /^DATABASE_URL must/,
    url: 'mysql://me:pass@host',
  },
  {
    what: 'PostgreSQL',
    command: 'db-backup',
    args: ['new.db'],
    message: /use pg_dump/,
    url: 'postgres://me:pass@host/plants',
  },
  {
    what: 'a missing store to copy',
    command: 'db-backup',
    args: ['new.db'],
    message: /^There is no store at /,
    url: 'sqlite:none.db',
  },
  { what: 'an existing file', command: 'db-backup', args: ['./plants.db'], message: /exists/ },
  // A start would delete this file as the journal of an interrupted commit.
  {
    what: 'a file beside the store',
    command: 'db-backup',
    args: ['plants.db-journal'],
    message: /would be a file of another store/,
  },
  {
    what: 'a missing folder',
    command: 'db-backup',
    args: ['none/copy.db'],
    message: /SQLITE_CANTOPEN: unable to open database/,
  },
  {
    what: 'a missing store',
    command: 'db-check',
    args: ['none.db'],
    message: /^There is no store/,
  },
  {
    what: 'two names',
    command: 'db-check',
    args: ['plants.db', 'copy.db'],
    message: /^Name one file/,
  },
];

it.each(REFUSALS)(
  '$command $args fails with one line and leaves no file: $what',
  async ({ command, args, message, url }) => {
    const before = await readdir(folder.path);
    const { exitCode, output, errors } = await run(command, args, url);
    expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' });
    expect(errors).toMatch(message);
    expect(errors).toMatch(/^[^\n]+\n$/);
    expect(errors).not.toContain('pass');
    // The command may have completed the store after a crash.
    expect(before).toEqual(expect.arrayContaining(await readdir(folder.path)));
  },
);

(Faults.areSupported ? it : it.skip).each([
  ['the copy', '.partial'],
  ['its folder', '/flushed'],
])('a backup succeeds only once %s is flushed (Linux, cc)', async (_, suffix) => {
  const faulty = await mkdtemp(join(tmpdir(), 'plant-store-'));
  const faults = new Faults(faulty, suffix);
  faults.set({ flushFailures: -1 });
  await mkdir(folder.file('flushed'), { recursive: true });
  const backup = await run('db-backup', ['flushed/copy.db'], 'sqlite:copy.db', faults.env);
  expect(backup).toMatchObject({ exitCode: 1, output: '' });
  expect(await readdir(folder.file('flushed'))).toEqual([]);
  await rm(faulty, { recursive: true });
});

describe('a check', () => {
  it('leaves a store that is not in use as it is, without a file beside it', async () => {
    await cp(folder.file('copy.db'), folder.file('alone/plants.db'));
    const before = await readFile(folder.file('alone/plants.db'));
    expect(await run('db-check', ['alone/plants.db'])).toMatchObject({ exitCode: 0 });
    expect(await readdir(folder.file('alone'))).toEqual(['plants.db']);
    expect(before.equals(await readFile(folder.file('alone/plants.db')))).toBe(true);
  });

  it('exits 1 for a damaged store', async () => {
    await cp(folder.file('copy.db'), folder.file('damaged.db'));
    const file = await open(folder.file('damaged.db'), 'r+');
    await file.write(Buffer.alloc(200, 0xff), 0, 200, 3 * 4096 + 10);
    await file.close();
    expect(await run('db-check', ['damaged.db'])).toMatchObject({ exitCode: 1 });
  });

  it.each([
    [
      'that is no database',
      'not a database\n'.repeat(1_000),
      /SQLITE_NOTADB: file is not a database/,
    ],
    ['of another program', '', /is not a store that this program made/],
  ])('exits 1 for a file %s', async (_, contents, message) => {
    await writeFile(folder.file('other'), contents);
    const { exitCode, errors } = await run('db-check', ['other']);
    expect(exitCode).toBe(1);
    expect(errors).toMatch(message);
  });

  it.each([
    [
      'exits 1 for a store that a newer program has changed',
      "INSERT INTO migrations (timestamp, name) VALUES (9, 'Later9')",
      1,
      /the schema is newer than this program: Later9/,
    ],
    [
      'names the missing migrations',
      'DELETE FROM migrations',
      0,
      /the next start adds CreatePlants/,
    ],
  ])('%s', async (_, sql, exitCode, message) => {
    await cp(folder.file('copy.db'), folder.file('changed.db'));
    await querySqlite(folder.file('changed.db'), sql);
    const ended = await run('db-check', ['changed.db']);
    expect(ended.exitCode).toBe(exitCode);
    expect(ended.output + ended.errors).toMatch(message);
  });
});
