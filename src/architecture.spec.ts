import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import ts from 'typescript';

/** The folders and files of src from the top down: each imports only what stands in a row below its own. */
const ROWS = [
  ['main.ts', 'commands'],
  ['app.ts'],
  ['app.module.ts'],
  ['schema.ts'],
  ['<feature>'],
  ['health', 'docs'],
  ['http'],
  ['database'],
  ['auth', 'validation', 'logging'],
  ['config', 'errors', 'metrics', 'json', 'tracing'],
];
/** Any other folder is a feature. */
const SHARED = new Set(ROWS.flat());
/** Where the features are put together: their modules, their entities and their migrations. */
const COMPOSITION_ROOTS = ['app.module.ts', 'schema.ts'];

const ENGINES = /sqlite|postgres|\bpg\b|pragma|rowid/i;
const MAY_NAME_AN_ENGINE = ['database/', 'commands/', 'config/database-url.ts'];

/** The text of each file by its path below src. */
type Sources = ReadonlyMap<string, string>;

interface Import {
  /** The path below src. */
  readonly from: string;
  readonly names: readonly string[];
}

function sourcesOfProgram(): Sources {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' });
  return new Map(
    files
      .filter((path) => /(?<!\.spec)\.ts$/.test(path))
      .map((path) => [path, readFileSync(`${import.meta.dirname}/${path}`, 'utf8')]),
  );
}

/** What a file imports from another of src, in whichever way. */
function importsOf(path: string, text: string): Import[] {
  const named = new Map<string, string[]>();
  const { statements } = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  for (const { moduleSpecifier, importClause } of statements.filter(ts.isImportDeclaration)) {
    const bindings = importClause?.namedBindings;
    if (bindings === undefined || !ts.isNamedImports(bindings)) continue;
    const names = bindings.elements.map(({ name, propertyName }) => (propertyName ?? name).text);
    named.set((moduleSpecifier as ts.StringLiteral).text, names);
  }
  return ts
    .preProcessFile(text)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => ({
      from: pathFrom(path, specifier),
      names: named.get(specifier) ?? ['*'],
    }));
}

function pathFrom(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts');
}

/** The folder below src, or the name of a file that is in none. */
function placeOf(path: string): string {
  return path.split('/')[0] ?? path;
}

function isFeature(place: string): boolean {
  return !SHARED.has(place) && !place.endsWith('.ts');
}

function rowOf(place: string): number {
  const name = isFeature(place) ? '<feature>' : place;
  return ROWS.findIndex((row) => row.includes(name));
}

/** What a feature's module lets others use: the module itself, and its exports. */
function exportsOf(sources: Sources, feature: string): string[] {
  const text = sources.get(`${feature}/${feature}.module.ts`) ?? '';
  const exported = /exports:\s*\[([^\]]*)\]/.exec(text)?.[1] ?? '';
  const module = /export class (\w+)/.exec(text)?.[1] ?? '';
  return [module, ...exported.split(',').map((name) => name.trim())];
}

function faultOf(sources: Sources, path: string, { from, names }: Import): string | undefined {
  const [place, other] = [placeOf(path), placeOf(from)];
  if (from.startsWith('..')) return `${path} imports ${from}, outside src`;
  if (from.endsWith('.spec.ts')) return `${path} imports a test`;
  if (place === other) return undefined;
  if (isFeature(place) && isFeature(other)) {
    const hidden = names.filter((name) => !exportsOf(sources, other).includes(name));
    const isEntity = from.endsWith('.entity.ts');
    return hidden.length > 0 && !isEntity
      ? `${path} imports ${hidden.join()} of ${other}`
      : undefined;
  }
  if (isFeature(other) && COMPOSITION_ROOTS.includes(path)) return undefined;
  if (isFeature(other)) return `${path} imports the feature ${other}`;
  if (rowOf(other) <= rowOf(place)) return `${path} imports ${from}, which is not below it`;
  return undefined;
}

/** The files of a circle of imports, the first one twice; undefined when there is none. */
function circleIn(imports: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): string[] | undefined => {
    if (way.includes(path)) return [...way.slice(way.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const next of imports.get(path) ?? []) {
      const circle = visit(next, [...way, path]);
      if (circle !== undefined) return circle;
    }
    done.add(path);
    return undefined;
  };
  for (const path of imports.keys()) {
    const circle = visit(path, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

function faultsIn(sources: Sources): string[] {
  const faults: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [path, text] of sources) {
    if (ENGINES.test(text) && !MAY_NAME_AN_ENGINE.some((prefix) => path.startsWith(prefix))) {
      faults.push(`${path} names an engine`);
    }
    const imports = importsOf(path, text);
    graph.set(
      path,
      imports.map(({ from }) => from),
    );
    faults.push(...imports.flatMap((one) => faultOf(sources, path, one) ?? []));
  }
  const circle = circleIn(graph);
  return circle === undefined ? faults : [...faults, `a circle: ${circle.join(' -> ')}`];
}

describe('the folders of src', () => {
  it('keep to the rules', () => {
    expect(faultsIn(sourcesOfProgram())).toEqual([]);
  });

  const gardens = `@Module({ exports: [GardensService] }) export class GardensModule {}`;

  it.each([
    ['plants/a.ts', `import { GardensModule } from '../gardens/gardens.module.js';`, undefined],
    ['plants/a.ts', `import { GardensService } from '../gardens/x.js';`, undefined],
    ['plants/a.ts', `import type { Garden } from '../gardens/garden.entity.js';`, undefined],
    ['plants/a.ts', `import { Bed as B } from '../gardens/beds.js';`, 'Bed of gardens'],
    ['plants/a.ts', `import * as all from '../gardens/beds.js';`, '* of gardens'],
    ['plants/a.ts', `export { Bed } from '../gardens/beds.js';`, '* of gardens'],
    ['plants/a.ts', `await import('../gardens/beds.js');`, '* of gardens'],
    ['plants/a.ts', `import { ApiError } from '../errors/api-error.js';`, undefined],
    ['plants/a.ts', `import { schema } from '../schema.js';`, 'not below it'],
    ['errors/a.ts', `import { GardensModule } from '../gardens/gardens.module.js';`, 'gardens'],
    ['errors/a.ts', `import { Env } from '../config/env.js';`, 'not below it'],
    ['errors/a.ts', `let env: import('../config/env.js').Env;`, 'not below it'],
    ['auth/a.ts', `import { JsonBody } from '../http/json-body.js';`, 'not below it'],
    ['app.module.ts', `import { GardensModule } from './gardens/gardens.module.js';`, undefined],
    ['schema.ts', `import { Garden } from './gardens/garden.entity.js';`, undefined],
    ['plants/a.ts', `import { Pool } from 'pg';`, 'names an engine'],
    ['plants/a.ts', `// As SQLite does it.`, 'names an engine'],
    ['database/a.ts', `import sqlite3 from 'sqlite3';`, undefined],
    ['config/env.ts', `// sqlite:`, 'names an engine'],
    ['main.ts', `import { TestApp } from '../test/support/test-app.js';`, 'outside src'],
    ['plants/a.ts', `import { helper } from './a.spec.js';`, 'imports a test'],
    ['plants/a.ts', `import { a } from './a.js';`, 'a circle: plants/a.ts -> plants/a.ts'],
  ])('in %s, %s: %s', (path, text, fault) => {
    const sources = { [path]: text, 'gardens/gardens.module.ts': gardens };
    expect(faultsIn(new Map(Object.entries(sources)))).toEqual(
      fault === undefined ? [] : [expect.stringContaining(fault)],
    );
  });
});
