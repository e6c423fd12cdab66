import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

const PLATFORM = 'packages/platform/src';
const NURSERY = 'examples/nursery/src';

/** Each is a program or a package, which imports others only by their names. */
const ROOT_FOLDERS = ['src', PLATFORM, NURSERY];

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
    ...['rest', 'server', 'openapi', 'health', 'requests', 'database', 'auth', 'validation'],
    ...['limits', 'observability', 'config', 'errors', 'json'],
  ].map((layer) => `${PLATFORM}/${layer}`),
];

/** The files that put the modules together. */
const ROOTS = ['src', NURSERY].flatMap((folder) => [
  `${folder}/app.module.ts`,
  `${folder}/schema.ts`,
]);

/** The files of a module that other modules may import. */
const PUBLIC = /\.(module|service|entity|errors)\.ts$/;

const ENGINES = /sqlite|postgres|\bpg\b|pragma|rowid/i;
const MAY_NAME_AN_ENGINE = [
  'src/commands/',
  'src/service.ts',
  `${NURSERY}/service.ts`,
  ...[
    ...['database/sqlite/', 'database/postgres/', 'database/data-source/'],
    ...['commands/', 'testing/', 'config/database-url.ts'],
  ].map((path) => `${PLATFORM}/${path}`),
];

/** The text of each file by its path. */
type Sources = ReadonlyMap<string, string>;

function readSources(): Sources {
  const files = ROOT_FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  );
  return new Map(
    files
      .filter((path) => /(?<!spec)\.ts$/.test(path))
      .map((path) => [path, readFileSync(path, 'utf8')]),
  );
}

/** An import or export: static, dynamic and of types. */
const IMPORT = /(?:\b(?:import|export)\b[^'";(]*|\bimport\()'(\.[^']+)'/g;

/** The paths of the files that a file imports. */
function listImports(path: string, text: string): string[] {
  return [...text.matchAll(IMPORT)].map(([, specifier = '']) =>
    posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts'),
  );
}

function findLayer(path: string): number {
  return LAYERS.findIndex((layer) => path === layer || path.startsWith(layer.replace(/\/?$/, '/')));
}

/** `src/modules/plants/` or `examples/nursery/src/sales/`; undefined for other files. */
function findModule(path: string): string | undefined {
  return /^(?:src\/modules|examples\/nursery\/src)\/\w+\//.exec(path)?.[0];
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
  if (below < layer) return `${path} imports ${from}, which is not below it`;
  const [module, other] = [findModule(path), findModule(from)];
  if (module === other) return undefined;
  if (other === undefined) return undefined;
  const isAllowed = module === undefined ? ROOTS.includes(path) : PUBLIC.test(from);
  return isAllowed ? undefined : `${path} imports ${from}, which is private`;
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

function checkSources(sources: Sources): string[] {
  const faults: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [path, text] of sources) {
    if (findLayer(path) === -1) faults.push(`${path} is in no layer`);
    if (ENGINES.test(text) && !MAY_NAME_AN_ENGINE.some((prefix) => path.startsWith(prefix))) {
      faults.push(`${path} names an engine`);
    }
    const imports = listImports(path, text);
    graph.set(path, imports);
    faults.push(...imports.flatMap((from) => checkImport(path, from) ?? []));
  }
  const circle = findCircle(graph);
  return circle.length === 0 ? faults : [...faults, `a circle among ${circle.join()}`];
}

it('the files of the services and of the package import only from the layers below them', () => {
  expect(checkSources(readSources())).toEqual([]);
});

describe('the rules for imports', () => {
  const MODULE = 'src/modules/plants/a.ts';
  const GARDEN = `import { Garden } from './modules/gardens/garden.entity.js';`;

  it.each([
    [MODULE, `import { GardensService } from '../gardens/gardens.service.js';`, undefined],
    [MODULE, `import type { Garden } from '../gardens/garden.entity.js';`, undefined],
    [MODULE, `import * as all from '../gardens/beds.js';`, 'which is private'],
    [MODULE, `await import('../gardens/beds.js');`, 'which is private'],
    [MODULE, `import { Public } from 'durable-rest';`, undefined],
    [MODULE, `import { a } from '../../../${PLATFORM}/json/json.js';`, 'of another package'],
    [`${PLATFORM}/database/a.ts`, `import { a } from './sqlite/a.js';`, 'names an engine'],
    [`${PLATFORM}/auth/a.ts`, `import { a } from '../requests/body-reader.js';`, 'not below it'],
    [`${PLATFORM}/a/a.ts`, `import { a } from '../../../../src/app.js';`, 'of another package'],
    [`${NURSERY}/a.ts`, `import { a } from '../../../src/app.js';`, 'of another package'],
    [`${NURSERY}/a/a.ts`, `import { a } from '../b/b.repository.js';`, 'which is private'],
    ['src/app.ts', GARDEN, 'which is private'],
    ['src/schema.ts', GARDEN, undefined],
    [MODULE, `import { helper } from './a.spec.js';`, 'imports a test'],
    ['src/common/a.ts', `export {};`, 'in no layer'],
    [MODULE, `import { a } from './a.js';`, 'a circle among src/modules/plants/a.ts'],
  ])('judge %s with %s: %s', (path, text, fault) => {
    const expected = expect.arrayContaining([expect.stringContaining(fault ?? '')]) as unknown;
    expect(checkSources(new Map([[path, text]]))).toEqual(fault === undefined ? [] : expected);
  });
});
