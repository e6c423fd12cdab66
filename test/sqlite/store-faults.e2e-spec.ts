import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, open, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { StoreReader } from '../../src/commands/store-reader.js';
import { expectError } from '../support/expect-error.js';
import { Program } from '../support/program.js';
import { type Answer, TestApp, TOKEN } from '../support/test-app.js';

/** What a client may see of a fault: nothing of the engine or the system, and no path. */
const NO_INNARDS: unknown = expect.not.stringMatching(/SQL|errno|ENO|plants\.db|disk|file|\//i);

let folder: string;
let store: string;
let acknowledged: number[];
let lastId: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  store = join(folder, 'plants.db');
  acknowledged = [];
  lastId = 0;
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function create(url: string, name = 'Monstera'): Promise<Answer> {
  const id = ++lastId;
  const { status, headers, ...response } = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ id, name }),
  }).then(async (answer) => {
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      body: JSON.parse(text) as unknown,
      text,
    };
  });
  if (status === 200) acknowledged.push(id);
  return { status, headers, ...response };
}

/** Some creates fail together, and meanwhile the service answers what needs no store. */
async function expectUnavailable(url: string, { name, isSlow = false }: Demand): Promise<void> {
  let areAnswered = false;
  const creates = Promise.all(Array.from({ length: 5 }, () => create(url, name)));
  void creates.then(() => (areAnswered = true));
  expect((await fetch(`${url}/openapi.json`)).status).toBe(200);
  if (isSlow) expect(areAnswered).toBe(false);
  for (const answer of await creates) {
    if (answer.status === 200 && name !== undefined) continue;
    expectError(answer, 'UNAVAILABLE', NO_INNARDS);
    expect(answer.headers.get('retry-after')).toBe('1');
  }
  // A disk that is nearly full may still have taken the first of them.
  if (name !== undefined) expectError(await create(url, name), 'UNAVAILABLE', NO_INNARDS);
}

interface Demand {
  /** What to create, when only large plants fail. */
  readonly name?: string;
  /** Whether a create takes its time to fail, during which the event loop must be free. */
  readonly isSlow?: boolean;
}

/** Of what was sent, the store has everything that was acknowledged, and is sound. */
async function expectAllStored(): Promise<void> {
  const reader = await StoreReader.open(store, 'ro');
  try {
    expect(await reader.integrityFaults()).toEqual([]);
    const rows = await reader.all<{ id: number; name: string }>('SELECT id, name FROM plants');
    const stored = new Set(rows.map(({ id }) => id));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(
      rows.filter(({ id, name }) => id > lastId || !/^(Monstera|x{50000})$/.test(name)),
    ).toEqual([]);
  } finally {
    await reader.close();
  }
}

interface Fault extends Demand {
  readonly what: string;
  /** Begins it, and resolves with what ends it. */
  readonly cause: (app: TestApp) => Promise<() => Promise<unknown>>;
}

const LARGE = 'x'.repeat(50_000);

const FAULTS: readonly Fault[] = [
  {
    what: 'may not grow',
    name: LARGE,
    cause: pragmas('max_page_count = 1', 'max_page_count = 9999'),
  },
  { what: 'is read-only', cause: pragmas('query_only = 1', 'query_only = 0') },
  {
    what: 'is locked by another process',
    isSlow: true,
    cause: async (app) => {
      await app.nest.get(DataSource).query('PRAGMA busy_timeout = 500');
      const holder = await lock(store);
      return async () => {
        holder.kill('SIGKILL');
        await once(holder, 'close');
      };
    },
  },
  { what: 'is damaged', cause: damage },
  { what: 'is moved away', cause: () => move(store) },
  { what: 'loses its log', cause: () => move(`${store}-wal`) },
  { what: 'is moved away with its folder', cause: () => move(folder) },
  {
    what: 'is replaced by another',
    cause: async () => {
      const moveBack = await move(store);
      await cp(`${store}.away`, store);
      return moveBack;
    },
  },
];

function pragmas(begin: string, end: string): Fault['cause'] {
  return async (app) => {
    const dataSource = app.nest.get(DataSource);
    await dataSource.query(`PRAGMA ${begin}`);
    return () => dataSource.query(`PRAGMA ${end}`);
  };
}

/** Overwrites every page but the first, and makes SQLite read them again. */
async function damage(app: TestApp): Promise<() => Promise<void>> {
  const dataSource = app.nest.get(DataSource);
  await dataSource.query('PRAGMA wal_checkpoint(TRUNCATE)');
  await dataSource.query('PRAGMA shrink_memory');
  const sound = await readFile(store);
  const file = await open(store, 'r+');
  await file.write(Buffer.alloc(sound.length - 4096, 0xff), 0, sound.length - 4096, 4096);
  return async () => {
    await file.write(sound, 0, sound.length, 0);
    await file.close();
  };
}

async function move(path: string): Promise<() => Promise<void>> {
  await rename(path, `${path}.away`);
  return () => rename(`${path}.away`, path);
}

/** A process that holds the lock for writing until it is killed. */
async function lock(path: string): Promise<ChildProcess> {
  const script = `const database = new (require('sqlite3').Database)(process.argv[1]);
    database.exec('BEGIN IMMEDIATE', (error) => console.log(error ?? 'locked'));
    setInterval(() => database, 1000);`;
  const holder = spawn(process.execPath, ['-e', script, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(holder.stdout, 'data')) as [Buffer];
  expect(said.toString()).toBe('locked\n');
  return holder;
}

describe('while the store', () => {
  it.each(FAULTS)('$what, creates get 503; then it goes on by itself', async (fault) => {
    const app = await TestApp.start({ DATABASE_URL: `sqlite:${store}` });
    const url = app.url.origin;
    try {
      expect(await create(url)).toMatchObject({ status: 200 });
      const end = await fault.cause(app);
      await expectUnavailable(url, fault);
      await end();
      expect(await create(url, fault.name)).toMatchObject({ status: 200 });
    } finally {
      await app.close();
    }
    await expectAllStored();
  });

  it('is removed for good, creates get 503, and no new one is made', async () => {
    const app = await TestApp.start({ DATABASE_URL: `sqlite:${store}` });
    await unlink(store);
    await expectUnavailable(app.url.origin, {});
    await app.close();
    await expect(StoreReader.open(store, 'ro')).rejects.toThrow('There is no store');
  });
});

/** The built program, on a disk of its own kind. */
async function surviveWithProgram(
  name: string,
  begin: (program: Program) => Promise<unknown>,
  end: (program: Program) => Promise<unknown>,
): Promise<void> {
  const program = Program.start(folder, { ACCESS_TOKENS: TOKEN, DATABASE_URL: `sqlite:${store}` });
  try {
    const url = await program.listening();
    expect(await create(url)).toMatchObject({ status: 200 });
    await begin(program);
    await expectUnavailable(url, { name });
    await end(program);
    expect(await create(url, name)).toMatchObject({ status: 200 });
    expect(program.output + program.errors).not.toContain(TOKEN);
    program.kill('SIGTERM');
    expect(await program.exited()).toBe(0);
  } finally {
    program.kill('SIGKILL');
    await program.exited();
  }
  await expectAllStored();
}

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;

(hasPrlimit ? it : it.skip)('survives writes that fail', async () => {
  const limit = (program: Program, bytes: string): Promise<void> => {
    execFileSync('prlimit', ['--pid', String(program.pid), `--fsize=${bytes}:`]);
    return Promise.resolve();
  };
  await surviveWithProgram(
    LARGE,
    (program) => limit(program, '16384'),
    (program) => limit(program, 'unlimited'),
  );
});

/** Where file systems may be mounted, as by root. */
function mountSmallDisk(path: string): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path]).status === 0;
}

it('survives a disk that is full', async () => {
  const canMount = mountSmallDisk(folder);
  if (!canMount) {
    console.warn('No file system may be mounted here: a full disk is untested');
    return;
  }
  try {
    const filler = join(folder, 'filler');
    await surviveWithProgram(
      LARGE,
      () => expect(writeFile(filler, Buffer.alloc(2 ** 20))).rejects.toThrow('ENOSPC'),
      () => unlink(filler),
    );
  } finally {
    execFileSync('umount', [folder]);
  }
});
