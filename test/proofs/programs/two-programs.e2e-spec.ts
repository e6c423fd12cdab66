import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { symlink, unlink } from 'node:fs/promises';
import type { Program } from '../../support/program.js';
import { ProgramFolder } from '../../support/program-folder.js';

const REASON =
  'Another program serves from this store: stop it, or give this one a store of its own\n';

let folder: ProgramFolder;

beforeEach(async () => {
  folder = await ProgramFolder.create();
});
afterEach(() => folder.remove());

function start(path = 'plants.db'): Program {
  return folder.serve({ DATABASE_URL: `sqlite:${path}` });
}

describe('a second program on one store', () => {
  it('says in one sentence that it cannot start, until the first one ends', async () => {
    const first = start();
    expect(await first.create(1)).toBe(200);
    await symlink(folder.file('plants.db'), folder.file('link.db'));
    for (const refused of [start(), start('link.db')]) {
      expect(await refused.exited()).toBe(1);
      expect(refused).toMatchObject({ output: '', errors: REASON });
    }
    await first.end('SIGKILL');
    const second = start();
    expect(await second.create(1)).toBe(40901);
    const third = start();
    second.kill('SIGTERM');
    expect(await third.create(2)).toBe(200);
  });

  it('is the only one of three that start at once on a new file', async () => {
    const programs = [start(), start(), start()];
    await Promise.all(programs.map((one) => one.listening().catch(() => one.exited())));
    const refused = programs.filter(({ hasExited }) => hasExited);
    expect(refused.map(({ errors }) => errors)).toEqual([REASON, REASON]);
    const [serving] = programs.filter(({ hasExited }) => !hasExited);
    expect(await serving?.create(1)).toBe(200);
  });
});

it('a store whose shared memory file is deleted acknowledges nothing more', async () => {
  const first = start();
  expect(await first.create(1)).toBe(200);
  await unlink(folder.file('plants.db-shm'));
  expect(await first.create(2)).toBe(50300);
  expect((await first.send('GET', '/health/ready')).status).toBe(503);
  await first.end('SIGKILL');
  const second = start();
  expect(await second.create(1)).toBe(40901);
  expect(await second.create(3)).toBe(200);
  expect(await folder.run('db-check', ['plants.db'], {})).toMatchObject({ exitCode: 0 });
});
