import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AS_ORDINARY_USER } from '../../support/ordinary-user.js';
import { ProgramFolder } from '../../support/program-folder.js';

const BUILD = new URL('../../../scripts/build.mjs', import.meta.url).pathname;
const CONFIG = {
  compilerOptions: { rootDir: 'src', types: [], lib: ['es5'], skipLibCheck: true },
  include: ['src'],
};
/** The files besides these that decide what is built. */
const OTHER_SOURCES = ['package-lock.json', 'tsconfig.json'];
/** What is in the folder of the project when no build is running. */
const PROJECT = ['dist', 'package-lock.json', 'src', 'tsconfig.build.json', 'tsconfig.json'];

let project: ProgramFolder;

beforeEach(async () => {
  project = await ProgramFolder.create();
  await mkdir(project.file('src'));
  writeFileSync(project.file('tsconfig.build.json'), JSON.stringify(CONFIG));
  for (const name of OTHER_SOURCES) writeFileSync(project.file(name), '{}');
});

afterEach(() => project.remove());

function write(version: string): void {
  for (const name of ['main', 'other']) writeFileSync(project.file(`src/${name}.ts`), version);
}

/** Resolves with the exit code and the text on standard error. */
async function build(...args: string[]): Promise<{ code: unknown; errors: string }> {
  const command = [...AS_ORDINARY_USER, process.execPath, BUILD, ...args];
  const child = spawn(command[0] ?? '', command.slice(1), {
    cwd: project.path,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const [code] = (await once(child, 'close')) as [unknown];
  return { code, errors };
}

/** Reads the contents of the compiled files in dist. */
async function built(): Promise<string[]> {
  const names = readdirSync(project.file('dist')).filter((name) => name.endsWith('.js'));
  return await Promise.all(names.map((name) => readFile(project.file(`dist/${name}`), 'utf8')));
}

/** Whether the next build is complete, in its own folder or in dist. */
function isNextBuilt(): boolean {
  const folders = readdirSync(project.path).filter((name) => /^dist(\.\d+)?$/.test(name));
  return folders.some((name) => existsSync(project.file(`${name}/main.js`)));
}

describe('npm run build', () => {
  it('leaves the last build in place until it is done, and then nothing of it', async () => {
    write('export const version = 1;');
    expect(await build()).toMatchObject({ code: 0 });
    const first = await built();
    expect(first).toHaveLength(2);
    writeFileSync(project.file('dist/removed.js'), '');
    write('export const version = 2;');
    const state = { isOver: false };
    const second = build().finally(() => (state.isOver = true));
    while (!state.isOver) {
      // Between two renames there is no dist for a moment, and the next build is beside it.
      const isThere = existsSync(project.file('dist/main.js')) || isNextBuilt();
      expect(isThere).toBe(true);
      await nextTurn();
    }
    expect(await second).toMatchObject({ code: 0 });
    expect(await built()).toEqual(first.map((text) => text.replace('1', '2')));
    expect(readdirSync(project.path).sort()).toEqual(PROJECT);
  });

  it('that fails leaves the last build', async () => {
    write('export const version = 1;');
    await build();
    const first = await built();
    write('export const version: string = 2;');
    expect(await build()).toMatchObject({ code: 1 });
    expect(await built()).toEqual(first);
    expect(readdirSync(project.path).sort()).toEqual(PROJECT);
  });

  it('with --if-changed does nothing until a source is changed, added or removed', async () => {
    const isDone = async (): Promise<boolean> => {
      const { code, errors } = await build('--if-changed');
      expect(code).toBe(0);
      return errors !== '';
    };
    write('export const version = 1;');
    expect([await isDone(), await isDone()]).toEqual([true, false]);
    write('export const version = 2;');
    expect([await isDone(), await isDone()]).toEqual([true, false]);
    unlinkSync(project.file('src/other.ts'));
    expect([await isDone(), await isDone()]).toEqual([true, false]);
    expect(await built()).toHaveLength(1);
  });

  it('may run beside another', async () => {
    write('export const version = 1;');
    const both = await Promise.all([build(), build()]);
    expect(both).toMatchObject([{ code: 0 }, { code: 0 }]);
    expect(await built()).toHaveLength(2);
    expect(readdirSync(project.path).sort()).toEqual(PROJECT);
  });

  it('in a folder that cannot be written says so in one sentence', async () => {
    chmodSync(project.path, 0o555);
    const { code, errors } = await build();
    chmodSync(project.path, 0o755);
    expect(code).toBe(1);
    expect(errors).toBe(
      `The program cannot be built: ${project.path} cannot be written by the user ${userInfo().username}. What is built already runs by node dist/main.js\n`,
    );
  });
});
