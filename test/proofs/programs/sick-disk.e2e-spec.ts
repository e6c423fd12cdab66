import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdir, unlink, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { Faults } from '../../support/faults.js';
import { freePort } from '../../support/free-port.js';
import type { Program } from '../../support/program.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { querySqlite } from '../../support/store.js';
import { TOKEN } from '../../support/token.js';
import { hasTool, mayMount, mountMemory, unmount } from '../../support/tools.js';
import { until } from '../../support/until.js';

const HEADERS = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
/** A name for which a nearly full store has no space. */
const LARGE_NAME = 'x'.repeat(50_000);
const CREATED = { status: 200 };
/** A refusal without internals: no engine, no system call and no path. */
const UNAVAILABLE = {
  status: 503,
  retryAfter: '1',
  body: { error: 50_300, message: expect.not.stringMatching(/SQL|errno|ENO|disk|file|\//i) },
};

let folder: ProgramFolder;
let program: Program;
let url: string;
let lastId: number;
let acknowledged: Set<number>;

beforeEach(async () => {
  folder = await ProgramFolder.create();
  await mkdir(folder.file('data'));
  lastId = 0;
  acknowledged = new Set();
});
afterEach(() => folder.remove());

/** Starts the program, and stores a first plant. */
async function serve(env: Record<string, string> = {}): Promise<void> {
  program = folder.start({ ACCESS_TOKENS: TOKEN, ...env });
  url = await program.listening();
  expect(await create()).toMatchObject(CREATED);
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: unknown;
}

async function create({ id = ++lastId, name = 'n' } = {}): Promise<Answer> {
  const body = JSON.stringify({ id, name });
  const response = await fetch(`${url}/plants`, { method: 'POST', headers: HEADERS, body });
  const { status } = response;
  if (status === 200) acknowledged.add(id);
  return { status, retryAfter: response.headers.get('retry-after'), body: await response.json() };
}

async function readiness(): Promise<number> {
  return (await fetch(`${url}/health/ready`)).status;
}

async function kill(): Promise<void> {
  program.kill('SIGKILL');
  await program.exited();
}

/** Stops the program, and checks that the store is sound and has every acknowledged plant. */
async function expectNothingLost(): Promise<void> {
  program.kill('SIGTERM');
  expect(await program.exited()).toBe(0);
  const store = folder.file('data/plants.db');
  expect(await querySqlite(store, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  const rows = (await querySqlite(store, 'SELECT id FROM plants')) as { id: number }[];
  const stored = rows.map(({ id }) => id);
  expect([...acknowledged].filter((id) => !stored.includes(id))).toEqual([]);
}

(Faults.areSupported ? describe : describe.skip)('with a sick disk (Linux, cc)', () => {
  let faults: Faults;

  beforeEach(() => {
    faults = new Faults(folder.path, 'plants.db-wal');
  });

  it('creates get 503 while flushes fail, or writes do as on a read-only file system', async () => {
    await serve(faults.env);
    const { EROFS } = constants.errno;
    for (const [wrong, right] of [
      [{ flushFailures: -1 }, { flushFailures: 0 }],
      [{ writeErrno: EROFS }, { writeErrno: 0 }],
    ]) {
      faults.set(wrong ?? {});
      const answers = await Promise.all([create(), create(), create()]);
      expect(answers).toEqual(answers.map(() => UNAVAILABLE));
      expect((await fetch(`${url}/openapi.json`)).status).toBe(200);
      faults.set(right ?? {});
      expect(await create()).toMatchObject(CREATED);
    }
    await expectNothingLost();
  });

  it('creates are answered 503 in time while a flush hangs, and then 200 again', async () => {
    await serve(faults.env);
    faults.set({ flushHang: 1 });
    const answers = Promise.all([create(), create()]);
    await faults.hang();
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    expect(await readiness()).toBe(503);
    expect(await answers).toEqual([UNAVAILABLE, UNAVAILABLE]);
    faults.set({ flushHang: 0 });
    await until(async () => (await readiness()) === 200);
    expect(await create()).toMatchObject(CREATED);
    await expectNothingLost();
  });

  it('64 clients that change one row on a slow disk are all answered 200', async () => {
    await serve(faults.env);
    faults.set({ flushMs: 10 });
    const change = async (name: string): Promise<number> => {
      const body = JSON.stringify({ name });
      return (await fetch(`${url}/plants/1`, { method: 'PATCH', headers: HEADERS, body })).status;
    };
    const clients = Array.from({ length: 64 }, async (_, client) => {
      const statuses: number[] = [];
      for (let round = 0; round < 8; round++) statuses.push(await change(`${client} ${round}`));
      return statuses;
    });
    const statuses = (await Promise.all(clients)).flat();
    expect(statuses).toEqual(Array.from({ length: 64 * 8 }, () => 200));
    faults.set({ flushMs: 0 });
    await expectNothingLost();
  });

  it('a stop is forced while a flush hangs: creates get 503 first', async () => {
    await serve(faults.env);
    faults.set({ flushHang: 1 });
    const answer = create();
    await faults.hang();
    program.kill('SIGTERM');
    expect(await answer).toEqual(UNAVAILABLE);
    expect(await program.exited()).toBe(null);
    expect(program.output).toContain('The stop is forced');
  });

  it('a stop is forced while the log cannot be written', async () => {
    const logToFile = "import fs from 'node:fs'; fs.closeSync(1); fs.openSync('log', 'w')";
    const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(logToFile)}`;
    const log = new Faults(folder.path, '/log');
    // Its log does not tell when it listens.
    const PORT = String(await freePort());
    program = folder.start({ ACCESS_TOKENS: TOKEN, NODE_OPTIONS, PORT, ...log.env });
    const live = `http://127.0.0.1:${PORT}/health/live`;
    await until(async () => (await fetch(live).catch(() => undefined))?.ok === true);
    log.set({ writeHang: 1 });
    program.kill('SIGTERM');
    expect(await program.exited()).toBe(null);
  });

  it('a start fails if the folders above a new store cannot be flushed', async () => {
    const above = new Faults(folder.path, '/new');
    above.set({ flushFailures: -1 });
    const DATABASE_URL = 'sqlite:new/store/plants.db';
    program = folder.start({ ACCESS_TOKENS: TOKEN, DATABASE_URL, ...above.env });
    expect(await program.exited()).toBe(1);
    expect(program.errors).toMatch(/^The store cannot be used, the SQLite file .* failed\n$/);
  });

  // Unflushed writes of a killed program are still in the system's memory, where the next program
  // finds them.
  it('a plant that a crash left unflushed is not acknowledged until it is', async () => {
    await serve(faults.env);
    faults.set({ flushHang: 1 });
    const unanswered = create().catch(() => undefined);
    await faults.hang();
    await kill();
    await unanswered;
    faults.set({ flushHang: 0, flushFailures: -1 });
    const env = { ACCESS_TOKENS: TOKEN, ...faults.env };
    program = folder.start(env);
    url = await program.listening().catch(() => '');
    const refused = url === '' ? undefined : await create({ id: lastId });
    expect(refused?.status).not.toBe(409);
    await kill();
    faults.set({ flushFailures: 0 });
    program = folder.start(env);
    url = await program.listening();
    expect(await create({ id: lastId })).toMatchObject({ body: { error: 40_901 } });
    acknowledged.add(lastId);
    await expectNothingLost();
  });
});

/** Expects large plants to be refused until there is space again, and nothing to be lost. */
async function surviveFullDisk(fill: () => unknown, free: () => unknown): Promise<void> {
  await serve();
  await fill();
  // A nearly full disk may still have space for the first of them.
  await create({ name: LARGE_NAME });
  expect(await create({ name: LARGE_NAME })).toEqual(UNAVAILABLE);
  await free();
  expect(await create({ name: LARGE_NAME })).toMatchObject(CREATED);
  await expectNothingLost();
}

(hasTool('prlimit') ? it : it.skip)('a file that may not grow is survived (prlimit)', () => {
  const limit = (bytes: string): unknown =>
    execFileSync('prlimit', ['--pid', String(program.pid), `--fsize=${bytes}:`]);
  return surviveFullDisk(
    () => limit('16384'),
    () => limit('unlimited'),
  );
});

const itWithMount = hasTool('right to mount', mayMount) ? it : it.skip;

itWithMount('a disk that is full is survived (root)', async () => {
  const filler = folder.file('data/filler');
  mountMemory(folder.file('data'), 'size=1m');
  try {
    await surviveFullDisk(
      () => expect(writeFile(filler, Buffer.alloc(2 ** 20))).rejects.toThrow('ENOSPC'),
      () => unlink(filler),
    );
  } finally {
    await kill();
    unmount(folder.file('data'));
  }
});
