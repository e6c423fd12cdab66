import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir } from 'node:fs/promises';
import { constants } from 'node:os';
import { Faults, until, type Wrong } from 'durable-rest/testing';
import { freePort } from '../../../packages/platform/src/testing/free-port.js';
import { preload, type Program, ProgramFolder } from '../../support/program.js';
import { querySqlite } from '../../support/store.js';

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
async function serve(env: Record<string, string>): Promise<void> {
  program = folder.serve(env);
  expect(await create()).toBe(200);
}

/** Creates a plant, and resolves with the code of the answer. */
async function create(): Promise<number> {
  const id = ++lastId;
  const body = `{"id":${id},"name":"n"}`;
  const { status, code, headers, text } = await program.send('POST', '/plants', body);
  if (status === 200) acknowledged.add(id);
  if (status === 503) {
    expect(headers.get('retry-after')).toBe('1');
    expect(text).not.toMatch(INTERNALS);
  }
  return code;
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

  it.each<readonly [string, Wrong, Wrong]>([
    ['flushes fail', { flushFailureStep: 1 }, { flushFailureStep: 0 }],
    ['the file system is read-only', { writeErrno: constants.errno.EROFS }, { writeErrno: 0 }],
    ['the disk is full', { writeErrno: constants.errno.ENOSPC }, { writeErrno: 0 }],
  ])('creates get 503 while %s', async (_, wrong, right) => {
    await serve(faults.env);
    faults.set(wrong);
    expect(await Promise.all([create(), create(), create()])).toEqual([50300, 50300, 50300]);
    expect((await program.send('GET', '/openapi.json')).status).toBe(200);
    faults.set(right);
    expect(await create()).toBe(200);
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
    const log = new Faults(folder.path, '/log');
    const port = await freePort();
    program = folder.serve({ ...preload(logToFile), PORT: String(port), ...log.env });
    await program.ready(port);
    log.set({ writeHang: 1 });
    expect(await program.end()).toBe(null);
  });

  it('a start fails if the folders above a new store cannot be flushed', async () => {
    const above = new Faults(folder.path, '/new');
    above.set({ flushFailureStep: 1 });
    program = folder.serve({ DATABASE_URL: 'sqlite:new/store/plants.db', ...above.env });
    expect(await program.exited()).toBe(1);
    expect(program.errors).toMatch(
      /^The store cannot be used, the SQLite file .*: EIO: i\/o error, fsync\n$/,
    );
  });

  it('a start fails if a copy in the place of the store cannot be flushed', async () => {
    await serve({});
    await expectNothingLost();
    const copy = new Faults(folder.path, '/plants.db');
    copy.set({ flushFailureStep: 1 });
    program = folder.serve(copy.env);
    expect(await program.exited()).toBe(1);
    expect(program.errors).toContain('EIO: i/o error, fsync');
  });
});
