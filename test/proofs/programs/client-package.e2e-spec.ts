import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';

const ROOT = new URL('../../../', import.meta.url).pathname;

let folder: string;
let installed: string;
/** The folder in which the oldest compiler is installed. */
let oldest: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plant-store-client-'));
  const pack = ['pack', join(ROOT, 'client'), '--pack-destination', folder];
  execFileSync('npm', pack, { cwd: ROOT, stdio: 'ignore' });
  const [tarball = ''] = await readdir(folder);
  installed = join(folder, 'node_modules/plant-store-client');
  await mkdir(installed, { recursive: true });
  oldest = join(folder, 'oldest');
  const compiler = ['install', '--no-save', '--no-audit', '--prefix', oldest];
  execFileSync('npm', [...compiler, `typescript@${OLDEST}`], { stdio: 'ignore' });
  execFileSync('tar', ['-xzf', join(folder, tarball), '-C', installed, '--strip-components=1']);
});

afterAll(() => rm(folder, { recursive: true }));

/** Lists the errors of the compiler in a project that is not strict and has no types of Node. */
function compile(...args: readonly string[]): string[] {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const project = '--noEmit --strict false --target es2022 --module nodenext'.split(' ');
  const command = [compiler, ...project, ...args];
  const { stdout } = spawnSync(process.execPath, command, { cwd: folder, encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes('error'));
}

/** The oldest compiler that takes the client. */
const OLDEST = '5.4.5';
const COMPILERS = [OLDEST, ts.version];
const LIBRARIES = ['ES2022', 'ES2022,DOM,DOM.Iterable'];
const STRICTNESS = ['--strict', '--strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess'];
const PROJECTS = COMPILERS.flatMap((compiler) =>
  LIBRARIES.flatMap((library) => STRICTNESS.map((strict) => [compiler, library, strict] as const)),
);

it.each(PROJECTS)(
  'the copied client compiles with TypeScript %s, --lib %s %s',
  async (compiler, library, strict) => {
    await copyFile(
      join(ROOT, 'client/plant-store-client.ts'),
      join(folder, 'plant-store-client.ts'),
    );
    const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
    const options = ['--noEmit', '--target', 'es2022', '--module', 'nodenext', '--lib', library];
    const { stdout } = spawnSync(
      process.execPath,
      [
        join(compiler === OLDEST ? oldest : ROOT, 'node_modules/typescript/bin/tsc'),
        ...[...options, ...types, '--skipLibCheck', ...strict.split(' ')],
        'plant-store-client.ts',
      ],
      { cwd: folder, encoding: 'utf8' },
    );
    expect(stdout).toBe('');
  },
);

it('the source of the client has types that Node can strip', () => {
  const options = ['--erasableSyntaxOnly', '--verbatimModuleSyntax'];
  expect(compile(...options, join(ROOT, 'client/plant-store-client.ts'))).toEqual([]);
});

it('the package has its licence, depends on nothing, and has the files that it links to', async () => {
  const read = (file: string): Promise<string> => readFile(join(installed, file), 'utf8');
  expect(await read('LICENSE')).toBe(await readFile(join(ROOT, 'LICENSE'), 'utf8'));
  expect(JSON.parse(await read('package.json'))).not.toHaveProperty('dependencies');
  const links = [...(await read('README.md')).matchAll(/\]\(([^)]+)\)/g)].map(
    ([, link = '']) => link,
  );
  expect(links).not.toEqual([]);
  expect(links.filter((link) => !existsSync(join(installed, link)))).toEqual([]);
});

it.each([
  ['module', "import { PlantStoreError } from 'plant-store-client';"],
  ['commonjs', "const { PlantStoreError } = require('plant-store-client');"],
])('the package runs in a program of type %s', (type, imports) => {
  const script = `${imports} console.log(new PlantStoreError(409, { error: 40900, message: 'm' }).status)`;
  const node = [`--input-type=${type}`, '--eval', script];
  expect(execFileSync(process.execPath, node, { cwd: folder, encoding: 'utf8' })).toBe('409\n');
});

it('the package has its types in modules and in CommonJS', async () => {
  const files = ['use.cts', 'use.mts'];
  const source = [
    "import { PlantStoreClient } from 'plant-store-client';",
    "const client = new PlantStoreClient('http://127.0.0.1', 'token');",
    'export const id: Promise<bigint> = client.readPlant(1).then(({ plant }) => plant.id);',
    "export const plant = client.createPlant({ name: 'without an id' });",
  ];
  for (const file of files) await writeFile(join(folder, file), source.join('\n'));
  expect(compile(...files)).toEqual(
    files.map((file) => expect.stringMatching(`^${file}.*Argument of type .*'NewPlant'`)),
  );
});
