import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

const PLATFORM = 'packages/platform/src';
const STORE = 'packages/store/src';
const NURSERY = 'examples/nursery/src';
const PLAIN_NEST = 'examples/plain-nest/src';

/** Each is a program or a package, which imports others only by their names. */
const ROOT_FOLDERS = ['src', PLATFORM, STORE, NURSERY];

/** The folders and files from the top down. Each imports only from itself and from those below. */
const LAYERS = [
  ...['main.ts', 'app.ts', 'app.module.ts', 'schema.ts', 'service.ts', ''].map(
    (layer) => `${NURSERY}/${layer}`,
  ),
  ...[
    'src/main.ts',
    'src/commands',
    'src/app.ts',
    'src/app.module.ts',
    'src/schema.ts',
    'src/service.ts',
    'src/modules',
  ],
  ...[
    ...['testing.ts', 'testing', 'program.ts', 'index.ts', 'program', 'commands', 'changes'],
    ...['rest', 'server', 'openapi', 'health', 'requests', 'store', 'auth', 'validation'],
    ...['state', 'limits', 'observability', 'config', 'errors'],
  ].map((layer) => `${PLATFORM}/${layer}`),
  ...[
    ...['index.ts', 'json.ts', 'commands', 'open', 'migrations', 'change-feed', 'repositories'],
    ...['batching', 'sqlite', 'postgres', 'engine', 'entities', 'errors', 'json'],
  ].map((layer) => `${STORE}/${layer}`),
];

/** The engines of the store stand side by side: neither imports the other. */
const ENGINE_FOLDERS = ['sqlite', 'postgres'].map((engine) => `${STORE}/${engine}/`);

/** The files that each engine has, after its own name: see `engine/engine.ts`. */
const PARTS_OF_ENGINE = [
  ...['change-log', 'connections', 'data-source', 'dialect', 'errors', 'migrations'],
  ...['query-runner', 'schema-runner', 'schema-steps'],
];

/** The files of a module that only the module and the lists of migrations import. */
const PRIVATE = /\.(controller|repository)\.ts$|\/migrations\//;

const ENGINES = /sqlite|postgres|\bpg\b|pragma|rowid/i;
/** Other files of the package must not. A module may, such as for a trigger or a report. */
const MAY_NAME_AN_ENGINE = [
  ...['commands/', 'testing/', 'config/database-url.ts'].map((path) => `${PLATFORM}/${path}`),
  ...['sqlite/', 'postgres/', 'open/', 'commands/', 'index.ts'].map((path) => `${STORE}/${path}`),
];

/** The packages that only some files may import: the drivers, and all that speaks HTTP. */
const RESERVED: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^(?:sqlite3|pg)$/, [`${STORE}/sqlite/`, `${STORE}/postgres/`, `${PLATFORM}/testing/`]],
  [/^typeorm\/driver\//, [`${STORE}/`]],
  [/^(?:express|durable-rest|@nestjs\/(?!common))/, ['src/', `${PLATFORM}/`, `${NURSERY}/`]],
];

/** The tests of this service. All others test the package, and no module in src can fail them. */
const SERVICE_TESTS = [
  ...['contract/', 'docs/', 'proofs/', 'upgrades/', 'support/test-app.ts'],
  ...['fuzz/fuzz.e2e-spec.ts', 'fuzz/planted-faults.e2e-spec.ts'],
  ...['api-file', 'client', 'documents', 'generate', 'documented-requests'].map(
    (name) => `server/${name}.e2e-spec.ts`,
  ),
].map((path) => `test/${path}`);

/** The files of the package that tests import by their paths, for more than constants. */
const TESTED_INSIDE = [
  `${STORE}/`,
  ...[
    ...['commands/', 'config/', 'limits/', 'state/', 'testing/'],
    ...['observability/pino-logger.ts', 'requests/', 'rest/merge-patch.ts'],
    ...['rest/constraint-errors.decorator.ts'],
    ...['server/connection.ts', 'server/fast-express-adapter.ts', 'validation/compiled-dto.ts'],
    'validation/max-values.ts',
  ].map((path) => `${PLATFORM}/${path}`),
];

/** The text of each file by its path. */
type Sources = ReadonlyMap<string, string>;

function readSources(folders: readonly string[], name: RegExp): Sources {
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  );
  return new Map(
    files.filter((path) => name.test(path)).map((path) => [path, readFileSync(path, 'utf8')]),
  );
}

/** An import or export: static or dynamic, with its names, and whether it is only of types. */
const IMPORT = /(?:\b(?:import|export)\b( type)?([^'";(]*)|\bimport\()'(\.[^']+)'/g;

interface Import {
  readonly from: string;
  readonly isOfTypes: boolean;
  /** The imported names; empty for a whole file. */
  readonly names: readonly string[];
}

/** Lists what a file imports from other files. */
function listImports(path: string, text: string): Import[] {
  return [...text.matchAll(IMPORT)].map(([, type, clause = '', specifier = '']) => ({
    from: posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts'),
    isOfTypes: type !== undefined,
    names: readNames(clause),
  }));
}

/** Reads the names of a clause such as `{ a, type B, c as d } from`. */
function readNames(clause: string): string[] {
  const [, list = ''] = /\{([^}]*)\}/.exec(clause) ?? [];
  return list.split(',').flatMap((name) => /(?:type )?(\w+)/.exec(name)?.[1] ?? []);
}

function findLayer(path: string): number {
  return LAYERS.findIndex((layer) => path === layer || path.startsWith(layer.replace(/\/?$/, '/')));
}

/** `src/modules/plants/` or `examples/nursery/src/sales/`; undefined for other files. */
function findModule(path: string): string | undefined {
  return /^(?:src\/modules|examples\/nursery\/src)\/[\w-]+\//.exec(path)?.[0];
}

function checkImport(path: string, from: string): string | undefined {
  const [own, imported] = [path, from].map((file) =>
    ROOT_FOLDERS.find((folder) => file.startsWith(`${folder}/`)),
  );
  if (own !== imported) {
    return `${path} imports ${from} of another package`;
  }
  if (from.endsWith('spec.ts')) return `${path} imports a test`;
  const [layer, below] = [findLayer(path), findLayer(from)];
  if (below !== -1 && below < layer) return `${path} imports ${from}, which is not below it`;
  const isOtherEngine = isIn(path, ENGINE_FOLDERS) && isIn(from, ENGINE_FOLDERS);
  if (isOtherEngine && layer !== below) return `${path} imports ${from} of another engine`;
  if (findModule(path) === findModule(from)) return undefined;
  // Nest's generators list a controller without a module in app.module.ts.
  const isPrivate = PRIVATE.test(from) && !/\/(?:schema|app\.module)\.ts$/.test(path);
  return isPrivate ? `${path} imports ${from}, which is private` : undefined;
}

/** The files that are part of a circle of imports, or that import one. */
function findCircle(graph: ReadonlyMap<string, readonly string[]>): string[] {
  let left = [...graph.keys()];
  for (let before = Infinity; left.length < before;) {
    before = left.length;
    left = left.filter((path) => graph.get(path)?.some((imported) => left.includes(imported)));
  }
  return left;
}

/** The reserved packages that a file imports. */
function listReserved(path: string, text: string): string[] {
  return [...text.matchAll(/\bfrom '([^.'][^']*)'/g)].flatMap(([, name = '']) =>
    RESERVED.some(([names, folders]) => names.test(name) && !isIn(path, folders))
      ? [`${path} imports ${name}`]
      : [],
  );
}

function isIn(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path.startsWith(folder));
}

function checkSources(sources: Sources): string[] {
  const faults: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [path, text] of sources) {
    const imports = listImports(path, text);
    faults.push(...imports.flatMap(({ from }) => checkImport(path, from) ?? []));
    // A team may add any file to its service, such as src/common/.
    if (![PLATFORM, STORE].some((folder) => path.startsWith(folder))) continue;
    faults.push(...listReserved(path, text));
    if (findLayer(path) === -1) faults.push(`${path} is in no layer`);
    if (ENGINES.test(text) && !MAY_NAME_AN_ENGINE.some((prefix) => path.startsWith(prefix))) {
      faults.push(`${path} names an engine`);
    }
    // Relations of TypeORM and forwardRef() of Nest are circles of modules, and allowed.
    graph.set(
      path,
      imports.filter(({ isOfTypes }) => !isOfTypes).map(({ from }) => from),
    );
  }
  const circle = findCircle(graph);
  return circle.length === 0 ? faults : [...faults, `a circle among ${circle.join()}`];
}

/** The names that durable-rest exports again. */
const EXPORTED_AGAIN = readFileSync(`${PLATFORM}/index.ts`, 'utf8')
  .match(/export (?:type )?\{[^}]*\} from 'durable-store(?:\/json)?'/g)
  ?.flatMap(readNames);

/** The names that a door of the package exports, by the file that has them; `*` for all. */
function readDoor(door: string): ReadonlyMap<string, readonly string[]> {
  const path = `${PLATFORM}/${door}`;
  const names = new Map<string, string[]>();
  for (const { from, names: more } of listImports(path, readFileSync(path, 'utf8'))) {
    names.set(from, [...(names.get(from) ?? []), ...(more.length > 0 ? more : ['*'])]);
  }
  return names;
}

const FOR_ALL = ['index.ts', 'program.ts'].map(readDoor);
// It needs Jest, in which proofs and what they share with tests do not run.
const FOR_TESTS = [...FOR_ALL, readDoor('testing.ts')];

function isExported(name: string, { from }: Import, by: typeof FOR_ALL): boolean {
  if (from.startsWith(STORE)) return EXPORTED_AGAIN?.includes(name) ?? false;
  return by.some((door) => door.get(from)?.some((one) => one === '*' || one === name));
}

function isServiceTest(path: string): boolean {
  const isAtTheTop = /^test\/[^/]+$/.test(path);
  return isAtTheTop || SERVICE_TESTS.some((prefix) => path.startsWith(prefix));
}

function checkTest(path: string, imported: Import): string[] {
  const { from, names } = imported;
  if (!isServiceTest(path) && (from.startsWith('src/') || isServiceTest(from))) {
    return [`${path} imports ${from}, which is about the service`];
  }
  const ofPackages = [`${PLATFORM}/`, `${STORE}/`];
  if (isIn(path, ofPackages) || !isIn(from, ofPackages)) return [];
  const areConstants = names.every((name) => /^[A-Z\d_]+$/.test(name));
  if (!areConstants && !TESTED_INSIDE.some((prefix) => from.startsWith(prefix))) {
    return [`${path} imports ${from}, which is not among TESTED_INSIDE`];
  }
  const doors = path.endsWith('spec.ts') ? FOR_TESTS : FOR_ALL;
  return names
    .filter((name) => isExported(name, imported, doors))
    .map((name) => `${path} imports ${name} by its path, and durable-rest exports it`);
}

function checkTests(tests: Sources): string[] {
  return [...tests].flatMap(([path, text]) =>
    listImports(path, text).flatMap((imported) => checkTest(path, imported)),
  );
}

it('the files of the services and of the package import only from the layers below them', () => {
  expect(checkSources(readSources(ROOT_FOLDERS, /(?<!spec)\.ts$/))).toEqual([]);
});

it.each(['sqlite', 'postgres'])('the engine %s has a file for each part of an engine', (engine) => {
  const files = readdirSync(`${STORE}/${engine}`);
  expect(files).toEqual(
    expect.arrayContaining(PARTS_OF_ENGINE.map((part) => `${engine}-${part}.ts`)),
  );
});

it('the plain Nest application uses the store, and nothing else of this repository', () => {
  const foreign = [...readSources([PLAIN_NEST], /(?<!spec)\.ts$/)].flatMap(([path, text]) =>
    /'(?:durable-rest|\.\.\/\.\.\/\.\.)/.test(text) ? [path] : [],
  );
  expect(foreign).toEqual([]);
});

it('the tests of the package import nothing of the service, and public names as a service does', () => {
  const ofPackage = readSources([PLATFORM, STORE], /spec\.ts$/);
  expect(checkTests(new Map([...ofPackage, ...readSources(['test'], /\.ts$/)]))).toEqual([]);
});

describe('the rules for imports', () => {
  const MODULE = 'src/modules/plants/a.ts';

  it.each([
    [MODULE, `import { GardensService } from '../gardens/gardens.service.js';`, undefined],
    [MODULE, `import type { Garden } from '../gardens/garden.entity.js';`, undefined],
    [MODULE, `import { GardenGuard } from '../gardens/garden.guard.js';`, undefined],
    [MODULE, `import * as all from '../gardens/gardens.repository.js';`, 'which is private'],
    [MODULE, `await import('../gardens/gardens.controller.js');`, 'which is private'],
    [MODULE, `import { a } from '../../app.module.js';`, 'not below it'],
    [MODULE, `// a trigger on SQLite, and another on PostgreSQL`, undefined],
    ['src/modules/order-items/a.ts', `import { a } from '../plants/a.service.js';`, undefined],
    [MODULE, `import { Public } from 'durable-rest';`, undefined],
    [MODULE, `import { a } from '../../../${STORE}/json/json.js';`, 'of another package'],
    [`${STORE}/a.ts`, `import { a } from './sqlite/a.js';`, 'names an engine'],
    [`${STORE}/a.ts`, `export {};`, 'in no layer'],
    [`${STORE}/engine/a.ts`, `import type { A } from '../batching/a.js';`, 'not below it'],
    [`${STORE}/engine/a.ts`, `import { a } from '../open/a.js';`, 'not below it'],
    [`${STORE}/entities/a.ts`, `import { a } from '../engine/a.js';`, 'not below it'],
    [`${STORE}/batching/a.ts`, `import { a } from '../repositories/a.js';`, 'not below it'],
    [`${STORE}/batching/a.ts`, `import { a } from '../sqlite/a.js';`, 'names an engine'],
    [`${STORE}/batching/a.ts`, `import { a } from '../engine/a.js';`, undefined],
    [`${STORE}/sqlite/a.ts`, `import { a } from '../batching/a.js';`, 'not below it'],
    [`${STORE}/sqlite/a.ts`, `import { a } from '../postgres/a.js';`, 'of another engine'],
    [`${STORE}/sqlite/a.ts`, `import { a } from '../engine/a.js';`, undefined],
    [`${STORE}/open/a.ts`, `import { a } from '../postgres/a.js';`, undefined],
    [`${STORE}/a.ts`, `import type { Request } from 'express';`, 'imports express'],
    [`${STORE}/a.ts`, `import { ApiError } from 'durable-rest';`, 'imports durable-rest'],
    [`${STORE}/batching/a.ts`, `import { Client } from 'pg';`, 'imports pg'],
    [`${PLATFORM}/rest/a.ts`, `import { Database } from 'sqlite3';`, 'imports sqlite3'],
    [`${PLATFORM}/auth/a.ts`, `import { a } from '../requests/body-reader.js';`, 'not below it'],
    [`${PLATFORM}/a/a.ts`, `import { a } from '../../../../src/app.js';`, 'of another package'],
    [`${NURSERY}/a.ts`, `import { a } from '../../../src/app.js';`, 'of another package'],
    [`${NURSERY}/a/a.ts`, `import { a } from '../b/b.repository.js';`, 'which is private'],
    ['src/app.ts', `import { a } from './modules/gardens/gardens.repository.js';`, 'is private'],
    ['src/schema.ts', `import { a } from './modules/gardens/migrations/1-a.js';`, undefined],
    ['src/common/a.ts', `import { a } from '../modules/gardens/garden.entity.js';`, undefined],
    [MODULE, `import { a } from '../../common/a.js';`, undefined],
    [MODULE, `import { helper } from './a.spec.js';`, 'imports a test'],
    [`${PLATFORM}/common/a.ts`, `export {};`, 'in no layer'],
    [`${STORE}/json/a.ts`, `import { a } from './a.js';`, `a circle among ${STORE}/json/a.ts`],
    [`${STORE}/json/a.ts`, `import type { A } from './a.js';`, undefined],
    [MODULE, `import { a } from './a.js';`, undefined],
  ])('judge %s with %s: %s', (path, text, fault) => {
    const expected = expect.arrayContaining([expect.stringContaining(fault ?? '')]) as unknown;
    expect(checkSources(new Map([[path, text]]))).toEqual(fault === undefined ? [] : expected);
  });

  it.each([
    ['test/modules/a.ts', `import { schema } from '../../src/schema.js';`, 'about the service'],
    ['test/modules/a.ts', `import { TestApp } from '../support/test-app.js';`, 'about the service'],
    [`${STORE}/json/a.spec.ts`, `import { a } from '../../../../src/a.js';`, 'the service'],
    ['test/contract/a.ts', `import { schema } from '../../src/schema.js';`, undefined],
    ['test/a.e2e-spec.ts', `import { AppModule } from '../src/app.module.js';`, undefined],
    ['test/nest/a.ts', `import { int64 } from '../../${STORE}/columns.js';`, 'int64'],
    ['test/nest/a.ts', `import { a } from '../../${PLATFORM}/auth/a.js';`, 'TESTED_INSIDE'],
    ['test/nest/a.ts', `import { MAX_A } from '../../${PLATFORM}/auth/a.js';`, undefined],
    ['test/nest/a.spec.ts', `import { until } from '../../${PLATFORM}/testing/until.js';`, 'until'],
    ['test/support/a.ts', `import { until } from '../../${PLATFORM}/testing/until.js';`, undefined],
  ])('judge the test %s with %s: %s', (path, text, fault) => {
    const faults = checkTests(new Map([[path, text]]));
    const expected = fault === undefined ? [] : [expect.stringContaining(fault)];
    expect(faults).toEqual(expected);
  });
});
