import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdir, unlink, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { Faults } from '../../support/faults.js';
import { freePort } from '../../support/free-port.js';
import type { Program, ProgramAnswer } from '../../support/program.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { querySqlite } from '../../support/store.js';
import { hasTool, mayMount, mountMemory, unmount } from '../../support/tools.js';
import { until } from '../../support/until.js';

/** A name for which a nearly full store has no space. */
const LARGE_NAME = 'x'.repeat(50_000);
/** Engines, system calls and paths, which no refusal may name. */
const INTERNALS = /SQL|errno|ENO|disk|file|\//i;

let folder: ProgramFolder;
let program: Program;
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
  program = folder.serve(env);
  expect(await create()).toBe(200);
}

/** Creates a plant, and resolves with the code of the answer. */
async function create(name = 'n', id = ++lastId): Promise<number> {
  const answer = await program.send('POST', '/plants', JSON.stringify({ id, name }));
  if (answer.status === 200) acknowledged.add(id);
  else if (answer.status === 503) expectRefusal(answer);
  return answer.code;
}

function expectRefusal({ headers, text }: ProgramAnswer): void {
  expect(headers.get('retry-after')).toBe('1');
  expect(text).not.toMatch(INTERNALS);
}

async function readiness(): Promise<number> {
  return (await program.send('GET', '/health/ready')).status;
}

/** Stops the program, and checks that the store is sound and has every acknowledged plant. */
async function expectNothingLost(): Promise<void> {
  expect(await program.end()).toBe(0);
  const store = folder.file('data/plants.db');
  expect(await querySqlite(store, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  const rows = (await querySqlite(store, 'SELECT id FROM plants')) as { id: number }[];
  expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining([...acknowledged]));
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
    ] as const) {
      faults.set(wrong);
      expect(await Promise.all([create(), create(), create()])).toEqual([50300, 50300, 50300]);
      expect((await program.send('GET', '/openapi.json')).status).toBe(200);
      faults.set(right);
      expect(await create()).toBe(200);
    }
    await expectNothingLost();
  });

  it('creates are answered 503 in time while a flush hangs, and then 200 again', async () => {
    await serve(faults.env);
    faults.set({ flushHang: 1 });
    const answers = Promise.all([create(), create()]);
    await faults.hang();
    expect((await program.send('GET', '/health/live')).status).toBe(200);
    expect(await readiness()).toBe(503);
    expect(await answers).toEqual([50300, 50300]);
    faults.set({ flushHang: 0 });
    await until(async () => (await readiness()) === 200);
    expect(await create()).toBe(200);
    await expectNothingLost();
  });

  it('64 clients that change one row on a slow disk are all answered 200', async () => {
    await serve(faults.env);
    faults.set({ flushMs: 10 });
    const clients = Array.from({ length: 64 }, async (_, client) => {
      for (let round = 0; round < 8; round++) {
        const body = JSON.stringify({ name: `${client} ${round}` });
        expect((await program.send('PATCH', '/plants/1', body)).status).toBe(200);
      }
    });
    await Promise.all(clients);
    faults.set({ flushMs: 0 });
    await expectNothingLost();
  });

  it('a stop is forced while a flush hangs: creates get 503 first', async () => {
    await serve(faults.env);
    faults.set({ flushHang: 1 });
    const answer = create();
    await faults.hang();
    program.kill('SIGTERM');
    expect(await answer).toBe(50300);
    expect(await program.exited()).toBe(null);
    expect(program.output).toContain('The stop is forced');
  });

  it('a stop is forced while the log cannot be written', async () => {
    const logToFile = "import fs from 'node:fs'; fs.closeSync(1); fs.openSync('log', 'w')";
    const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(logToFile)}`;
    const log = new Faults(folder.path, '/log');
    const port = await freePort();
    program = folder.serve({ NODE_OPTIONS, PORT: String(port), ...log.env });
    await program.ready(port);
    log.set({ writeHang: 1 });
    expect(await program.end()).toBe(null);
  });

  it('a start fails if the folders above a new store cannot be flushed', async () => {
    const above = new Faults(folder.path, '/new');
    above.set({ flushFailures: -1 });
    program = folder.serve({ DATABASE_URL: 'sqlite:new/store/plants.db', ...above.env });
    expect(await program.exited()).toBe(1);
    expect(program.errors).toMatch(
      /^The store cannot be used, the SQLite file .*: EIO: i\/o error, fsync\n$/,
    );
  });

  // Unflushed writes of a killed program are still in the system's memory, where the next program
  // finds them.
  it('a plant that a crash left unflushed is not acknowledged until it is', async () => {
    await serve(faults.env);
    faults.set({ flushHang: 1 });
    const unanswered = create().catch(() => undefined);
    await faults.hang();
    await program.end('SIGKILL');
    await unanswered;
    faults.set({ flushHang: 0, flushFailures: -1 });
    program = folder.serve(faults.env);
    const code = await create('n', lastId).catch(() => undefined);
    expect([undefined, 50300]).toContain(code);
    await program.end('SIGKILL');
    faults.set({ flushFailures: 0 });
    program = folder.serve(faults.env);
    expect(await create('n', lastId)).toBe(40901);
    acknowledged.add(lastId);
    await expectNothingLost();
  });
});

/** Expects large plants to be refused until there is space again, and nothing to be lost. */
async function surviveFullDisk(fill: () => unknown, free: () => unknown): Promise<void> {
  await serve();
  await fill();
  // A nearly full disk may still have space for the first of them.
  await create(LARGE_NAME);
  expect(await create(LARGE_NAME)).toBe(50300);
  await free();
  expect(await create(LARGE_NAME)).toBe(200);
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
    await program.end('SIGKILL');
    unmount(folder.file('data'));
  }
});
