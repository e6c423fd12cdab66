import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = new URL('../../', import.meta.url).pathname;

/** A module of a team, which may have the name of one that is generated here. */
const OF_A_TEAM = /src\/modules\/(?!plants\b)./;

/** What Nest's command line passes to each schematic here, besides its name and --spec=false. */
const DEFAULTS = [
  ...['--language=ts', '--source-root=src/modules'],
  ...['--flat=false', '--spec-file-suffix=spec'],
];

let schematics: ChildProcess;
let folder: string;

beforeAll(() => {
  schematics = fork(`${ROOT}test/support/schematics.mjs`, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
});
afterAll(() => schematics.disconnect());

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
async function runNest(...args: readonly string[]): Promise<string> {
  const nest = `${ROOT}node_modules/@nestjs/cli/bin/nest.js`;
  const run = promisify(execFile)(process.execPath, [nest, 'g', ...args], { cwd: folder });
  const { stdout, stderr } = await run.catch((error: unknown) => error as Awaited<typeof run>);
  return stdout + stderr;
}

/** Runs a schematic in the copy as `nest g` does, but without a new process. */
async function generate(schematic: string, name: string, ...options: string[]): Promise<string> {
  const args = [`durable-rest-schematics:${schematic}`, `--name=${name}`, ...DEFAULTS, ...options];
  schematics.send({ folder, args });
  const [printed] = (await once(schematics, 'message')) as [string];
  return printed;
}

async function listModules(): Promise<string[]> {
  return (await readdir(join(folder, 'src/modules'))).sort();
}

/** Lists the files of a resource. */
async function listSources(name: string): Promise<string[]> {
  const made = `src/modules/${name}`;
  const paths = await readdir(join(folder, made), { recursive: true });
  return paths.filter((path) => path.endsWith('.ts')).map((path) => `${made}/${path}`);
}

function readSource(path: string): Promise<string> {
  return readFile(join(folder, path), 'utf8');
}

async function readModule(name: string): Promise<string> {
  const texts = await Promise.all((await listSources(name)).map(readSource));
  return texts.join('\n');
}

/** Words about plants, except "Peach" and the like, which can be any names. */
const ABOUT_PLANTS = /plant|monstera|ficus|fern|indoor|'mon'|the same id/i;

interface Import {
  readonly names: readonly string[];
  readonly path: string;
}

/** Reads the imports of a file in which packages stand first. */
async function readImports(file: string): Promise<Import[]> {
  const imports = (await readSource(file)).matchAll(
    /^import (?:type )?\{([^}]*)\} from '(.*)';$/gm,
  );
  return [...imports].map(([, list = '', path = '']) => ({
    names: list.split(',').flatMap((name) => name.replace('type ', '').trim() || []),
    path,
  }));
}

/** Expects what an editor that sorts imports would leave. */
async function expectSortedImports(file: string): Promise<void> {
  const imports = await readImports(file);
  for (const { names } of imports) {
    const sorted = [...names].sort((a, b) => a.localeCompare(b, 'en'));
    expect({ file, names }).toEqual({ file, names: sorted });
  }
  const paths = imports.map(({ path }) => path);
  const packages = paths.filter((path) => !path.startsWith('.'));
  const files = paths.filter((path) => path.startsWith('.')).sort();
  expect({ file, paths }).toEqual({ file, paths: [...packages, ...files] });
}

async function expectModule(name: string, module: string): Promise<void> {
  expect(await listModules()).toEqual(['plants', name].sort());
  const text = await readFile(join(folder, 'src/app.module.ts'), 'utf8');
  expect(text).toContain(`import { ${module} } from './modules/${name}/${name}.module.js';`);
  expect(text).toMatch(new RegExp(`imports: \\[[^\\]]*${module}`));
  expect(await readModule(name)).not.toMatch(ABOUT_PLANTS);
  for (const file of ['src/app.module.ts', 'src/schema.ts', ...(await listSources(name))]) {
    await expectSortedImports(file);
  }
}

describe('nest g', () => {
  it.each([
    ['herbs', '--type=least', 'HerbsModule', /herb\b/],
    ['species', 'specimen', 'SpeciesModule', /specimen\b/],
  ])(
    'resource %s %s makes a module, and says last what to do',
    async (name, option, module, one) => {
      const output = await runNest('resource', name, option);
      await expectModule(name, module);
      expect(await readModule(name)).toMatch(one);
      expect(output.trimEnd().split('\n').at(-1)).toBe(
        `Now: npm run openapi && npm run jest -- --selectProjects sqlite -- src/modules/${name}`,
      );
    },
  );

  it('resource --dry-run does not say what to do next', async () => {
    expect(await runNest('resource', 'beds', '--dry-run')).not.toContain('Now:');
    expect(await listModules()).toEqual(['plants']);
  });

  it('resource --crud=false writes nothing', async () => {
    const output = await runNest('resource', 'beds', '--crud=false');
    expect(output).toContain('leave out --crud=false');
    expect(await listModules()).toEqual(['plants']);
  });

  it('gateway says last what to install, and how to set an adapter', async () => {
    const output = await runNest('gateway', 'beds');
    const hint = output.trimEnd().split('\n').at(-1);
    expect(hint).toContain('npm install --save-prod @nestjs/websockets @nestjs/platform-ws.');
    expect(hint).toContain('app.useWebSocketAdapter(new WsAdapter(app))');
  });
});

it.each([
  ['beds', [], 'BedsModule'],
  ['order-items', [], 'OrderItemsModule'],
  ['zones', ['--type=rest', '--crud'], 'ZonesModule'],
])('the resource %s %j is a module that is registered', async (name, options, module) => {
  await generate('resource', name, ...options);
  await expectModule(name, module);
});

it.each([
  ['beds', 'bed', 'A bed in the store'],
  ['order-items', 'order-item', 'An order item in the store'],
])('the resource %s has the article of %s', async (name, one, text) => {
  await generate('resource', name);
  const entity = join(folder, `src/modules/${name}/${one}.entity.ts`);
  expect(await readFile(entity, 'utf8')).toContain(text);
});

it('the imports that a file has already stay as they are', async () => {
  const file = join(folder, 'src/app.module.ts');
  const own = `import './tracing.js';\n${await readFile(file, 'utf8')}`;
  await writeFile(file, own);
  await generate('resource', 'beds');
  const imports = (await readFile(file, 'utf8')).split(/(?<=;\n)/);
  const added = `import { BedsModule } from './modules/beds/beds.module.js';\n`;
  const next = `import { PlantsModule } from './modules/plants/plants.module.js';\n`;
  expect(imports[imports.indexOf(added) + 1]).toBe(next);
  const others = imports.filter((line) => line !== added).join('');
  expect(others).toBe(own.replace('PlantsModule]', 'PlantsModule, BedsModule]'));
});

async function generateMigration(): Promise<string> {
  await generate('resource', 'beds');
  const [migration = ''] = await readdir(join(folder, 'src/modules/beds/migrations'));
  return migration;
}

it('the migration of a resource is numbered by the clock', async () => {
  const before = Date.now();
  const [number] = (await generateMigration()).split('-');
  expect(Number(number)).toBeGreaterThan(before);
});

it('the migration of a resource is numbered after one from a clock that was ahead', async () => {
  const file = join(folder, 'src/modules/plants/migrations/9000000000000-later.ts');
  await writeFile(file, '');
  expect(await generateMigration()).toBe('9000000000001-create-beds.ts');
});

it.each([
  ['classes', 'cannot use the names classes and class'],
  ['ids', 'cannot use the names ids and id'],
  ['species', 'as in nest g resource species specimen'],
  ['species --path=species', 'not the plural of another word'],
  ['bed', 'not the plural of another word'],
  ['beds2', 'in letters and hyphens'],
  ['plants', 'cannot use the names plants and plant'],
  ['beds --type=graphql-code-first', 'GraphQL is not supported'],
  ['beds --type=microservice', 'The type of a resource is "rest"'],
])('a resource %s is refused, and nothing is written', async (words, reason) => {
  const [name = '', ...options] = words.split(' ');
  expect(await generate('resource', name, ...options)).toContain(reason);
  expect(await listModules()).toEqual(['plants']);
});

it('a resolver is refused, and the reason says that GraphQL is not supported', async () => {
  expect(await generate('resolver', 'beds')).toContain('GraphQL is not supported');
  expect(await listModules()).toEqual(['plants']);
});

it('a service is imported in a way that Node resolves', async () => {
  await generate('module', 'gardens');
  await generate('service', 'gardens');
  const text = await readFile(join(folder, 'src/modules/gardens/gardens.module.ts'), 'utf8');
  expect(text).toContain(`from './gardens.service.js'`);
});

it('a service is added to a module, of which nothing else changes', async () => {
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

it('a test imports what it uses of Jest', async () => {
  await generate('guard', 'gardens', '--spec');
  const text = await readFile(join(folder, 'src/modules/gardens/gardens.guard.spec.ts'), 'utf8');
  expect(text).toContain(`import { describe, expect, it } from '@jest/globals';`);
});
