import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = new URL('../../', import.meta.url).pathname;

/** A module of a team, which may have the name of one that is generated here. */
const OF_A_TEAM = /src\/modules\/(?!plants\b)./;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plant-store-generated-'));
  for (const file of ['.prettierrc.json', 'nest-cli.json', 'package.json', 'src']) {
    const filter = (path: string): boolean => !OF_A_TEAM.test(path);
    await cp(ROOT + file, join(folder, file), { recursive: true, filter });
  }
  await symlink(`${ROOT}node_modules`, join(folder, 'node_modules'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Runs `npx nest g` in the copy, and resolves with what it prints. */
async function generate(...args: readonly string[]): Promise<string> {
  const nest = `${ROOT}node_modules/@nestjs/cli/bin/nest.js`;
  const run = promisify(execFile)(process.execPath, [nest, 'g', ...args], { cwd: folder });
  const { stdout, stderr } = await run.catch((error: unknown) => error as Awaited<typeof run>);
  return stdout + stderr;
}

async function listModules(): Promise<string[]> {
  return (await readdir(join(folder, 'src/modules'))).sort();
}

it.each([
  ['beds', [], 'BedsModule'],
  ['order-items', [], 'OrderItemsModule'],
  ['herbs', ['--type=least'], 'HerbsModule'],
  ['ferns', ['--type', 'rest', '--crud'], 'FernsModule'],
  ['species', ['specimen'], 'SpeciesModule'],
])('nest g resource %s %j makes a module and registers it', async (name, options, module) => {
  await generate('resource', name, ...options);
  expect(await listModules()).toEqual(['plants', name].sort());
  const text = await readFile(join(folder, 'src/app.module.ts'), 'utf8');
  expect(text).toContain(`import { ${module} } from './modules/${name}/${name}.module.js';`);
  expect(text).toMatch(new RegExp(`imports: \\[[^\\]]*${module}`));
  const made = join(folder, 'src/modules', name);
  const sources = (await readdir(made, { recursive: true })).filter((path) =>
    /(?<!spec)\.ts$/.test(path),
  );
  const texts = await Promise.all(sources.map((path) => readFile(join(made, path), 'utf8')));
  expect(texts.join('\n')).not.toMatch(/plant|monstera|the same id/i);
});

it.each([
  ['beds', 'bed', 'A bed in the store'],
  ['order-items', 'order-item', 'An order item in the store'],
])('nest g resource %s writes the article of %s', async (name, one, text) => {
  await generate('resource', name);
  const entity = join(folder, `src/modules/${name}/${one}.entity.ts`);
  expect(await readFile(entity, 'utf8')).toContain(text);
});

async function generateMigration(): Promise<string> {
  await generate('resource', 'beds');
  const [migration = ''] = await readdir(join(folder, 'src/modules/beds/migrations'));
  return migration;
}

it('nest g resource numbers the migration by the clock', async () => {
  const before = Date.now();
  const [number] = (await generateMigration()).split('-');
  expect(Number(number)).toBeGreaterThan(before);
});

it('nest g resource numbers the migration after one from a clock that was ahead', async () => {
  const file = join(folder, 'src/modules/plants/migrations/9000000000000-later.ts');
  await writeFile(file, '');
  expect(await generateMigration()).toBe('9000000000001-create-beds.ts');
});

it.each([
  ['classes', 'cannot use the names classes and class'],
  ['ids', 'cannot use the names ids and id'],
  ['species', 'as in nest g resource species specimen'],
  ['species species', 'not the plural of another word'],
  ['bed', 'not the plural of another word'],
  ['beds2', 'in letters and hyphens'],
  ['plants', 'cannot use the names plants and plant'],
  ['beds --type=graphql-code-first', 'GraphQL is not supported'],
  ['beds --type=microservice', 'The type of a resource is "rest"'],
  ['beds --crud=false', 'leave out --crud=false'],
])('nest g resource %s writes nothing', async (words, reason) => {
  expect(await generate('resource', ...words.split(' '))).toContain(reason);
  expect(await listModules()).toEqual(['plants']);
});

it('nest g resource says last what to do next', async () => {
  const output = await generate('resource', 'beds');
  expect(output.trimEnd().split('\n').at(-1)).toMatch(
    /^Now: npm run openapi && .*src\/modules\/beds$/,
  );
});

it('nest g resource --dry-run does not say what to do next', async () => {
  expect(await generate('resource', 'beds', '--dry-run')).not.toContain('Now:');
  expect(await listModules()).toEqual(['plants']);
});

it('nest g resolver says that GraphQL is not supported', async () => {
  expect(await generate('resolver', 'beds')).toContain('GraphQL is not supported');
  expect(await listModules()).toEqual(['plants']);
});

it('nest g gateway says last what to install, and how to set an adapter', async () => {
  const output = await generate('gateway', 'beds');
  const hint = output.trimEnd().split('\n').at(-1);
  expect(hint).toContain('npm install --save-prod @nestjs/websockets @nestjs/platform-ws.');
  expect(hint).toContain('app.useWebSocketAdapter(new WsAdapter(app))');
});

it('nest g service writes imports that Node resolves', async () => {
  await generate('module', 'gardens');
  await generate('service', 'gardens');
  const text = await readFile(join(folder, 'src/modules/gardens/gardens.module.ts'), 'utf8');
  expect(text).toContain(`from './gardens.service.js'`);
});

it('nest g service adds to a module, and changes nothing that its author wrote', async () => {
  await generate('module', 'gardens');
  const file = join(folder, 'src/modules/gardens/gardens.module.ts');
  const own = `import soils from './soils.json' with { type: 'json' };\n`;
  const written = `export const first: any = soils[0];\n`;
  await writeFile(file, own + (await readFile(file, 'utf8')) + written);
  await generate('service', 'gardens');
  const text = await readFile(file, 'utf8');
  expect(text).toContain(own);
  expect(text).toContain(written);
  expect(text).toContain('providers: [GardensService]');
});

it('nest g --spec writes a test that imports what it uses of Jest', async () => {
  await generate('guard', 'gardens', '--spec');
  const text = await readFile(join(folder, 'src/modules/gardens/gardens.guard.spec.ts'), 'utf8');
  expect(text).toContain(`import { describe, expect, it } from '@jest/globals';`);
});
