import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

/** The folders and files of src from the top down. Each imports only from itself and from those below. */
const LAYERS = [
  ...['main.ts', 'commands', 'shutdown.ts', 'app.ts', 'app.module.ts', 'schema.ts', 'modules'],
  ...['platform/rest', 'platform/server', 'platform/openapi', 'platform/health'],
  ...['platform/requests', 'platform/database', 'platform/auth', 'platform/validation'],
  ...['platform/limits', 'platform/observability'],
  ...['platform/config', 'platform/errors', 'platform/json'],
];

/** The files of the platform that modules may import. */
const FOR_MODULES = [
  /^platform\/(rest|errors)\//,
  /^platform\/database\/[^/]+$/,
  /^platform\/(auth|validation)\/[^/]+\.decorators?\.ts$/,
  // Classes of values.
  /^platform\/json\/(decimal|json-text)\.ts$/,
  /^platform\/config\/setting(\.decorators|-formats)\.ts$/,
];

/** The files that put the modules together. */
const ROOTS = ['app.module.ts', 'schema.ts'];

/** The files of a module that other modules may import. */
const PUBLIC = /\.(module|service|entity|errors)\.ts$/;

const ENGINES = /sqlite|postgres|\bpg\b|pragma|rowid/i;
const MAY_NAME_AN_ENGINE = [
  ...['platform/database/sqlite/', 'platform/database/postgres/', 'platform/database/data-source/'],
  ...['commands/', 'platform/config/database-url.ts'],
];

/** The text of each file by its path below src. */
type Sources = ReadonlyMap<string, string>;

function readSources(): Sources {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' });
  return new Map(
    files
      .filter((path) => /(?<!spec)\.ts$/.test(path))
      .map((path) => [path, readFileSync(`${import.meta.dirname}/${path}`, 'utf8')]),
  );
}

/** An import or export: static, dynamic and of types. */
const IMPORT = /(?:\b(?:import|export)\b[^'";(]*|\bimport\()'(\.[^']+)'/g;

/** The paths of the files of src that a file imports. */
function listImports(path: string, text: string): string[] {
  return [...text.matchAll(IMPORT)].map(([, specifier = '']) =>
    posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts'),
  );
}

function findLayer(path: string): number {
  return LAYERS.findIndex((layer) => path === layer || path.startsWith(`${layer}/`));
}

/** `modules/plants/`; undefined for a file of the platform. */
function findModule(path: string): string | undefined {
  return /^modules\/\w+\//.exec(path)?.[0];
}

function checkImport(path: string, from: string): string | undefined {
  if (from.startsWith('..')) return `${path} imports ${from}, outside src`;
  if (from.endsWith('spec.ts')) return `${path} imports a test`;
  const [layer, below] = [findLayer(path), findLayer(from)];
  if (below < layer) return `${path} imports ${from}, which is not below it`;
  const [module, other] = [findModule(path), findModule(from)];
  if (module === other) return undefined;
  if (other === undefined) {
    const isAllowed = FOR_MODULES.some((allowed) => allowed.test(from));
    return isAllowed ? undefined : `${path} imports ${from}, which is not meant for modules`;
  }
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

it('the files of src import only from the layers below them', () => {
  expect(checkSources(readSources())).toEqual([]);
});

describe('the rules for imports', () => {
  const MODULE = 'modules/plants/a.ts';

  it.each([
    [MODULE, `import { GardensService } from '../gardens/gardens.service.js';`, undefined],
    [MODULE, `import type { Garden } from '../gardens/garden.entity.js';`, undefined],
    [MODULE, `import * as all from '../gardens/beds.js';`, 'which is private'],
    [MODULE, `await import('../gardens/beds.js');`, 'which is private'],
    [MODULE, `import { Public } from '../../platform/auth/auth.decorators.js';`, undefined],
    [MODULE, `import { a } from '../../platform/database/batching/a.js';`, 'not meant for modules'],
    ['platform/database/a.ts', `import { a } from './sqlite/a.js';`, 'names an engine'],
    ['platform/auth/a.ts', `import { a } from '../requests/body-reader.js';`, 'not below it'],
    ['platform/rest/a.ts', `import { a } from '../../modules/gardens/a.js';`, 'not below it'],
    ['app.ts', `import { Garden } from './modules/gardens/garden.entity.js';`, 'which is private'],
    ['schema.ts', `import { Garden } from './modules/gardens/garden.entity.js';`, undefined],
    ['main.ts', `import { TestApp } from '../test/support/test-app.js';`, 'outside src'],
    [MODULE, `import { helper } from './a.spec.js';`, 'imports a test'],
    ['common/a.ts', `export {};`, 'in no layer'],
    [MODULE, `import { a } from './a.js';`, 'a circle among modules/plants/a.ts'],
  ])('judge %s with %s: %s', (path, text, fault) => {
    expect(checkSources(new Map([[path, text]]))).toEqual(
      fault === undefined ? [] : [expect.stringContaining(fault)],
    );
  });
});
