import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = new URL('../../../', import.meta.url).pathname;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plant-store-client-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** Lists the errors of the compiler in a project that is not strict and has no types of Node. */
function faults(file: string, ...options: readonly string[]): string {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const project = '--noEmit --strict false --target es2022 --module nodenext'.split(' ');
  const { stdout } = spawnSync(process.execPath, [compiler, ...project, ...options, file], {
    cwd: folder,
    encoding: 'utf8',
  });
  return stdout;
}

/** Lists the files of the client that git would add. */
function listUntracked(): string {
  const list = ['ls-files', '--others', '--exclude-standard', 'client'];
  return execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' });
}

it('client/plant-store-client.ts has types that Node can strip, in a project that is not strict', () => {
  const options = ['--erasableSyntaxOnly', '--verbatimModuleSyntax'];
  expect(faults(join(ROOT, 'client/plant-store-client.ts'), ...options)).toBe('');
});

describe('client/, packed and installed', () => {
  let installed: string;
  let untracked: string;

  beforeAll(async () => {
    untracked = listUntracked();
    const pack = ['pack', `${ROOT}client`, '--json', '--pack-destination', folder];
    execFileSync('npm', pack, { cwd: ROOT, stdio: ['ignore', 'ignore', 'ignore'] });
    installed = join(folder, 'node_modules/plant-store-client');
    await mkdir(installed, { recursive: true });
    const tarball = join(folder, 'plant-store-client-1.2.0.tgz');
    execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  });

  it('has its licence, depends on nothing, and links only to what it has', async () => {
    const licence = await readFile(join(ROOT, 'LICENSE'), 'utf8');
    expect(await readFile(join(installed, 'LICENSE'), 'utf8')).toBe(licence);
    const description = await readFile(join(installed, 'package.json'), 'utf8');
    expect(Object.keys(JSON.parse(description) as object)).not.toContain('dependencies');
    const readme = await readFile(join(installed, 'README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !existsSync(join(installed, link)))).toEqual([]);
  });

  it('was packed without a file that git would add', () => {
    expect(listUntracked()).toEqual(untracked);
  });

  it.each([
    ['module', "import { PlantStoreClient, PlantStoreError } from 'plant-store-client';"],
    ['commonjs', "const { PlantStoreClient, PlantStoreError } = require('plant-store-client');"],
  ])('runs in a program of type %s', (type, imports) => {
    const script = `${imports} console.log(new PlantStoreClient('', '') instanceof Object, new PlantStoreError(409, { error: 40900, message: 'm' }).status)`;
    const node = [`--input-type=${type}`, '--eval', script];
    expect(execFileSync(process.execPath, node, { cwd: folder, encoding: 'utf8' })).toBe(
      'true 409\n',
    );
  });

  it.each(['use.mts', 'use.cts'])('has its types in %s', async (name) => {
    const file = join(folder, name);
    const source = [
      "import { PlantStoreClient } from 'plant-store-client';",
      "const client = new PlantStoreClient('http://127.0.0.1', 'token');",
      'export const id: Promise<bigint> = client.readPlant(1).then(({ plant }) => plant.id);',
      "export const plant = client.createPlant({ name: 'without an id' });",
    ];
    await writeFile(file, source.join('\n'));
    const lines = faults(file)
      .split('\n')
      .filter((line) => line.includes('error'));
    expect(lines).toEqual([expect.stringMatching(/Argument of type .*'NewPlant'/)]);
  });
});
