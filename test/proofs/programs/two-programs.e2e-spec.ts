import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { symlink, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { SqliteReader } from '../../../src/commands/sqlite-reader.js';
import type { Program } from '../../support/program.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { TOKEN } from '../../support/token.js';

const REASON =
  'Another program serves from this store: stop it, or give this one a store of its own\n';

let folder: ProgramFolder;

beforeEach(async () => {
  folder = await ProgramFolder.create();
});

afterEach(() => folder.remove());

function start(path = 'plants.db'): Program {
  return folder.start({ ACCESS_TOKENS: TOKEN, DATABASE_URL: `sqlite:${path}` });
}

async function create(url: string, id: number): Promise<number> {
  const { status } = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ id, name: 'Monstera' }),
  });
  return status;
}

/** Inserts a plant as SQLite's shell may do beside the program. */
async function insertByHand(id: number): Promise<void> {
  const script = `const database = new (require('sqlite3').Database)(process.argv[1]);
    database.exec("INSERT INTO plants (id, name) VALUES (${id}, 'by hand')", (error) => { if (error) throw error; });`;
  await promisify(execFile)(process.execPath, ['-e', script, folder.file('plants.db')]);
}

describe('a second program on one store', () => {
  it('says in one sentence that it cannot start, until the first one ends', async () => {
    const first = start();
    expect(await create(await first.listening(), 1)).toBe(200);
    await symlink(folder.file('plants.db'), folder.file('link.db'));
    for (const refused of [start(), start('link.db')]) {
      expect(await refused.exited()).toBe(1);
      expect(refused).toMatchObject({ output: '', errors: REASON });
    }
    first.kill('SIGKILL');
    await first.exited();

    const second = start();
    const url = await second.listening();
    expect(await create(url, 1)).toBe(409);
    await insertByHand(2);
    expect(await create(url, 2)).toBe(409);
    const third = start();
    second.kill('SIGTERM');
    expect(await create(await third.listening(), 3)).toBe(200);
  });

  it('is the only one of three that start at once on a new file', async () => {
    const three = [start(), start(), start()];
    const ends = await Promise.all(
      three.map((program) =>
        program.listening().then(
          (url) => url,
          () => undefined,
        ),
      ),
    );
    const served = ends.filter((url) => url !== undefined);
    expect(served).toHaveLength(1);
    expect(await create(served[0] ?? '', 1)).toBe(200);
    const refused = three.filter((_, index) => ends[index] === undefined);
    for (const program of refused) {
      expect(await program.exited()).toBe(1);
      expect(program.errors).toBe(REASON);
    }
  });
});

it('a store whose shared memory file is deleted acknowledges nothing more', async () => {
  const first = start();
  const url = await first.listening();
  expect(await create(url, 1)).toBe(200);
  await unlink(folder.file('plants.db-shm'));
  expect(await create(url, 2)).toBe(503);
  expect((await fetch(`${url}/health/ready`)).status).toBe(503);
  first.kill('SIGKILL');
  await first.exited();
  expect(await create(await start().listening(), 3)).toBe(200);
  const reader = await SqliteReader.open(folder.file('plants.db'), 'rw');
  expect(await reader.findIntegrityFaults()).toEqual([]);
  const stored = await reader.all<{ id: number }>('SELECT id FROM plants ORDER BY id');
  expect(stored.map(({ id }) => id)).toEqual(expect.arrayContaining([1, 3]));
  await reader.close();
});
