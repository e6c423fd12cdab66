import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { promisify } from 'node:util';
import { backUpStore } from '../../../src/commands/back-up-store.js';
import { checkStore } from '../../../src/commands/check-store.js';
import { CommandError } from '../../../src/commands/command.js';
import { Faults } from '../../support/faults.js';
import { schema } from '../../../src/schema.js';
import type { Program } from '../../support/program.js';
import { type Ended, ProgramFolder } from '../../support/program-folder.js';
import { TOKEN } from '../../support/token.js';

const CLIENTS = 16;

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
    expect(output).toContain(`plants: ${copied.size}, id from 1 to ${Math.max(...copied)}\n`);
    expect(output).toContain(`schema: ${schema.migrations.at(-1)?.name ?? ''}\n`);
    expect(output).toMatch(/^integrity: ok$/m);
    expect((await checkStore(folder.file('plants.db'))).faults).toEqual([]);
  });

  it('is not written over', async () => {
    const before = await readFile(folder.file('copy.db'));
    await expectRefusal('copy.db', /copy\.db exists and is not overwritten/);
    expect(before.equals(await readFile(folder.file('copy.db')))).toBe(true);
  });

  it('becomes a store again by a start', async () => {
    await cp(folder.file('copy.db'), folder.file('restored.db'));
    const restored = start('restored.db');
    const url = await restored.listening();
    expect(await create(url, acknowledged.at(-1) ?? 0)).toBe(40901);
    expect(await create(url, -1)).toBe(200);
    restored.kill('SIGTERM');
    expect(await restored.exited()).toBe(0);
    const ids = await idsIn('restored.db');
    expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
  });
});

const REFUSALS: readonly [what: string, command: string, args: string[], RegExp, url?: string][] = [
  ['no name', 'db-backup', [], /^Name the file/],
  ['a wrong URL', 'db-backup', ['new.db'], /^DATABASE_URL must/, 'mysql://me:pass@host'],
  ['a missing store', 'db-check', ['none.db'], /^There is no store/],
  ['two names', 'db-check', ['plants.db', 'copy.db'], /^Name one file/],
];

/** Expects a backup to fail with this sentence. */
async function expectRefusal(target: string, sentence: RegExp, store = 'plants.db'): Promise<void> {
  const backup = backUpStore(folder.file(store), folder.file(target), () => undefined);
  const error = await backup.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CommandError);
  expect((error as CommandError).message).toMatch(sentence);
}

describe('a failed command exits 1 with a sentence and leaves no file:', () => {
  let before: string[];
  let all: Ended[];

  beforeAll(async () => {
    before = await readdir(folder.path);
    all = await Promise.all(REFUSALS.map(([, command, args, , url]) => run(command, args, url)));
  });

  it.each(
    REFUSALS.map(([what, command, args, sentence], index) => ({
      what,
      command,
      args,
      sentence,
      index,
    })),
  )('$what: $command $args', ({ sentence, index }) => {
    const { exitCode, output, errors } = all[index] ?? {};
    expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' });
    expect(errors).toMatch(sentence);
    expect(errors).toMatch(/^[^\n]+\n$/);
    expect(errors).not.toContain('pass');
  });

  it('and none leaves a file', async () => {
    expect(await readdir(folder.path)).toEqual(before);
  });

  it('a backup to where it cannot be, or of nothing', async () => {
    const before = await readdir(folder.path);
    await expectRefusal('./plants.db', /file of the store itself/);
    await expectRefusal('plants.db-wal', /file of the store itself/);
    // A start would delete this file as the journal of an interrupted commit.
    await symlink(folder.path, folder.file('link'));
    await expectRefusal('link/plants.db-journal', /file of the store itself/);
    await expectRefusal('link/plants.db-lock', /file of the store itself/);
    await rm(folder.file('link'));
    await expectRefusal('none/copy.db', /^There is no folder \/.*none: create it first$/);
    await expectRefusal('new.db', /^There is no store/, 'none.db');
    expect(await readdir(folder.path)).toEqual(before);
  });

  it('a backup that is stopped', async () => {
    const before = await readdir(folder.path);
    const target = folder.file('stopped.db');
    const stop = new AbortController();
    const stopAtChecking = (): void => stop.abort();
    await expect(
      backUpStore(folder.file('plants.db'), target, stopAtChecking, stop.signal),
    ).rejects.toThrow('Stopped: there is no copy');
    expect(await readdir(folder.path)).toEqual(before);
  });
});

describe('a backup', () => {
  it('may be read by no more people than the store', async () => {
    await cp(folder.file('restored.db'), folder.file('private.db'));
    await chmod(folder.file('private.db'), 0o600);
    await backUpStore(folder.file('private.db'), folder.file('private-copy.db'), () => undefined);
    expect((await stat(folder.file('private-copy.db'))).mode & 0o777).toBe(0o600);
  });

  (Faults.areSupported ? it : it.skip).each([
    ['the copy', '.partial'],
    ['its folder', '/flushed'],
  ])('succeeds only once %s is flushed (Linux, cc)', async (_, suffix) => {
    const faulty = await mkdtemp(join(tmpdir(), 'plant-store-'));
    const faults = new Faults(faulty, suffix);
    faults.set({ flushFailures: -1 });
    await mkdir(folder.file('flushed'), { recursive: true });
    const backup = await run('db-backup', ['flushed/copy.db'], 'sqlite:restored.db', faults.env);
    expect(backup).toMatchObject({ exitCode: 1, output: '' });
    await rm(faulty, { recursive: true });
  });
});

describe('a check', () => {
  it('leaves a store that is not in use as it is, without a file beside it', async () => {
    await cp(folder.file('restored.db'), folder.file('alone/plants.db'));
    const before = await readFile(folder.file('alone/plants.db'));
    expect((await checkStore(folder.file('alone/plants.db'))).faults).toEqual([]);
    expect(await readdir(folder.file('alone'))).toEqual(['plants.db']);
    expect(before.equals(await readFile(folder.file('alone/plants.db')))).toBe(true);
  });

  it('exits 1 for a damaged store', async () => {
    await cp(folder.file('restored.db'), folder.file('damaged.db'));
    const file = await open(folder.file('damaged.db'), 'r+');
    await file.write(Buffer.alloc(200, 0xff), 0, 200, 3 * 4096 + 10);
    await file.close();
    expect(await run('db-check', ['damaged.db'])).toMatchObject({ exitCode: 1 });
  });

  it('fails for a file that is no store', async () => {
    await writeFile(folder.file('text'), 'not a database\n'.repeat(1_000));
    await expect(checkStore(folder.file('text'))).rejects.toThrow(
      `${folder.file('text')} cannot be read: the file is not a SQLite database`,
    );
  });

  it('distinguishes a sound store from one that a newer program has changed', async () => {
    const path = folder.file('newer.db');
    await cp(folder.file('restored.db'), path);
    expect((await checkStore(path)).faults).toEqual([]);
    const database = new sqlite3.Database(path);
    await promisify(database.exec.bind(database))(
      "INSERT INTO migrations (timestamp, name) VALUES (9, 'Later9'); DELETE FROM plants",
    );
    await promisify(database.close.bind(database))();
    const { contents, faults } = await checkStore(path);
    expect(faults).toEqual(['the schema is newer than this program: Later9']);
    expect(contents).toContain('plants: 0');
  });

  it('names the missing migrations', async () => {
    const path = folder.file('older.db');
    await cp(folder.file('restored.db'), path);
    const database = new sqlite3.Database(path);
    await promisify(database.exec.bind(database))('DELETE FROM migrations');
    await promisify(database.close.bind(database))();
    const { contents } = await checkStore(path);
    expect(contents[0]).toMatch(/^schema: none, the next start adds CreatePlants/);
  });
});
