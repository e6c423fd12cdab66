import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import ts from 'typescript';

/** The rooms that every feature uses; any other folder is a feature. */
const HOUSE = 'auth config database docs errors health http logging metrics validation'.split(' ');
/** Where the features are put together. */
const PLANS = ['app.module.ts', 'database/data-source-options.ts'];
const ENGINES = /sqlite|postgres|\bpg\b|pragma|rowid/i;

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

function importsOf(path: string, text: string): Import[] {
  const { statements } = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  return statements.filter(ts.isImportDeclaration).flatMap(({ moduleSpecifier, importClause }) => {
    const from = (moduleSpecifier as ts.StringLiteral).text;
    if (!from.startsWith('.')) return [];
    const bindings = importClause?.namedBindings;
    const names =
      bindings !== undefined && ts.isNamedImports(bindings)
        ? bindings.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
        : ['*'];
    return { from: pathFrom(path, from), names };
  });
}

/** What is imported in any other way: a re-export, `import()`, the type of an import. */
function otherImportsOf(path: string, text: string): Import[] {
  const named = new Set(importsOf(path, text).map(({ from }) => from));
  return ts
    .preProcessFile(text)
    .importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => ({ from: pathFrom(path, fileName), names: ['*'] }))
    .filter(({ from }) => !named.has(from));
}

function pathFrom(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts');
}

function roomOf(path: string): string | undefined {
  return path.includes('/') && !path.startsWith('..') ? path.split('/')[0] : undefined;
}

function isFeature(room: string | undefined): room is string {
  return room !== undefined && !HOUSE.includes(room);
}

/** What a feature's module lets others use: the module itself, and its exports. */
function offers(sources: Sources, feature: string): string[] {
  const text = sources.get(`${feature}/${feature}.module.ts`) ?? '';
  const exported = /exports:\s*\[([^\]]*)\]/.exec(text)?.[1] ?? '';
  const module = /export class (\w+)/.exec(text)?.[1] ?? '';
  return [module, ...exported.split(',').map((name) => name.trim())];
}

function faultsIn(sources: Sources): string[] {
  const faults: string[] = [];
  for (const [path, text] of sources) {
    const room = roomOf(path);
    if (room !== 'database' && ENGINES.test(text)) faults.push(`${path} names an engine`);
    for (const { from, names } of [...importsOf(path, text), ...otherImportsOf(path, text)]) {
      const other = roomOf(from);
      if (from.startsWith('..')) faults.push(`${path} imports ${from}, outside src`);
      if (from.endsWith('.spec.ts')) faults.push(`${path} imports a test`);
      if (!isFeature(other) || other === room || PLANS.includes(path)) continue;
      const hidden = names.filter((name) => !offers(sources, other).includes(name));
      if (!isFeature(room)) faults.push(`${path} imports the feature ${other}`);
      else if (hidden.length > 0) faults.push(`${path} imports ${hidden.join()} of ${other}`);
    }
  }
  return faults;
}

describe('the rooms of src', () => {
  it('keep to the rules', () => {
    expect(faultsIn(sourcesOfProgram())).toEqual([]);
  });

  const gardens = `@Module({ exports: [GardensService] }) export class GardensModule {}`;

  it.each([
    ['plants/a.ts', `import { GardensModule } from '../gardens/gardens.module.js';`, undefined],
    ['plants/a.ts', `import { GardensService } from '../gardens/x.js';`, undefined],
    ['plants/a.ts', `import type { Garden } from '../gardens/garden.entity.js';`, 'Garden of'],
    ['plants/a.ts', `import { Garden as G } from '../gardens/garden.entity.js';`, 'Garden of'],
    ['plants/a.ts', `import * as all from '../gardens/garden.entity.js';`, '* of gardens'],
    ['plants/a.ts', `export { Garden } from '../gardens/garden.entity.js';`, '* of gardens'],
    ['plants/a.ts', `await import('../gardens/garden.entity.js');`, '* of gardens'],
    ['plants/a.ts', `import { ApiError } from '../errors/api-error.js';`, undefined],
    ['errors/a.ts', `import { GardensModule } from '../gardens/gardens.module.js';`, 'gardens'],
    ['app.module.ts', `import { GardensModule } from './gardens/gardens.module.js';`, undefined],
    ['plants/a.ts', `import { Pool } from 'pg';`, 'names an engine'],
    ['plants/a.ts', `// As SQLite does it.`, 'names an engine'],
    ['database/a.ts', `import sqlite3 from 'sqlite3';`, undefined],
    ['main.ts', `import { TestApp } from '../test/support/test-app.js';`, 'outside src'],
    ['plants/a.ts', `import { helper } from './a.spec.js';`, 'imports a test'],
  ])('in %s, %s: %s', (path, text, fault) => {
    const sources = { [path]: text, 'gardens/gardens.module.ts': gardens };
    expect(faultsIn(new Map(Object.entries(sources)))).toEqual(
      fault === undefined ? [] : [expect.stringContaining(fault)],
    );
  });
});
