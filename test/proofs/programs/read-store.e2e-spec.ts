import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { preload, type Program, ProgramFolder } from '../../support/program.js';
import { querySqlite } from '../../support/store.js';

/** The ways in which a module reads a file, as an ES module for {@link preload}. */
const WAYS: Record<string, string> = {
  copyFile: "await promises.copyFile(file, 'copy')",
  createReadStream: 'for await (const chunk of createReadStream(file)) chunk.length',
  'readFile in a Worker': `
    const code = "require('node:fs').readFileSync(require('node:worker_threads').workerData)";
    await once(new Worker(code, { eval: true, workerData: file }), 'exit')`,
};

function makeModule(file: string, way: string): string {
  return `
    import { once } from 'node:events';
    import { createReadStream, promises } from 'node:fs';
    import { Worker } from 'node:worker_threads';
    const file = '${file}';
    process.once('SIGUSR2', async () => {
      ${WAYS[way]};
      console.error('has read');
    });`;
}

let folder: ProgramFolder;

beforeEach(async () => {
  folder = await ProgramFolder.create();
});
afterEach(() => folder.remove());

/** Starts a program, creates the plant 1, and lets a module of the program read a file. */
async function startAndRead(file: string, way: string): Promise<Program> {
  const program = serve(preload(makeModule(file, way)));
  expect(await program.create(1)).toBe(200);
  program.kill('SIGUSR2');
  await program.printed(/has read/, 'errors');
  return program;
}

function serve(env: Record<string, string> = {}): Program {
  return folder.serve({ DATABASE_URL: 'sqlite:plants.db', ...env });
}

async function selectInShell(): Promise<void> {
  const command = ['plants.db', 'SELECT count(*) FROM plants'];
  await promisify(execFile)('sqlite3', command, { cwd: folder.path });
}

async function expectStop(program: Program, file: string): Promise<void> {
  await expect(program.create(2)).rejects.toThrow('fetch failed');
  expect(await program.exited()).toBe(1);
  expect(program.output).toContain(`the locks of SQLite on ${folder.file(file)} are lost`);
}

describe.each(Object.keys(WAYS))('a module that reads a file of the store by %s', (way) => {
  it.each(['plants.db', 'plants.db-shm'])('%s: nothing acknowledged is lost', async (file) => {
    const program = await startAndRead(file, way);
    await selectInShell();
    await expectStop(program, file);
    const next = serve();
    expect((await next.send('GET', '/plants/1')).status).toBe(200);
    expect(await next.end()).toBe(0);
    expect(await querySqlite(folder.file('plants.db'), 'PRAGMA integrity_check')).toEqual([
      { integrity_check: 'ok' },
    ]);
  });

  it('plants.db-lock: the program stops before another one is in its way', async () => {
    const program = await startAndRead('plants.db-lock', way);
    const second = serve();
    await second.listening();
    await expectStop(program, 'plants.db-lock');
    expect(await second.create(3)).toBe(200);
    expect((await second.send('GET', '/plants/1')).status).toBe(200);
  });

  it('plants.db-wal: the program goes on', async () => {
    const program = await startAndRead('plants.db-wal', way);
    await selectInShell();
    expect(await program.create(2)).toBe(200);
    expect(await program.end()).toBe(0);
  });
});
