import { readdirSync } from 'node:fs';
import type { ErrorEntry } from '../../src/platform/errors/error-catalogue.js';
import type { Answer, TestApp } from './test-app.js';

const MODULES = new URL('../../src/modules/', import.meta.url).pathname;

/** Causes the error, and resolves with the answer. */
export type Cause = (app: TestApp) => Promise<Answer>;

/** One way to get each error of a module: the default export of its `*.error-fixtures.ts`. */
export interface ErrorFixtures<Entries extends Readonly<Record<string, ErrorEntry>>> {
  readonly entries: Entries;
  readonly causes: Readonly<Record<keyof Entries, Cause>>;
}

/** Loads the causes of the errors of all modules, by the names of the errors. */
export async function loadErrorFixtures(): Promise<(readonly [string, ErrorEntry, Cause])[]> {
  const files = readdirSync(MODULES, { recursive: true, encoding: 'utf8' });
  const causes = files
    .filter((path) => path.endsWith('.error-fixtures.ts'))
    .map(async (path) => {
      const module = (await import(MODULES + path)) as {
        default: ErrorFixtures<Readonly<Record<string, ErrorEntry>>>;
      };
      return listCauses(module.default);
    });
  return (await Promise.all(causes)).flat();
}

export function listCauses<Entries extends Readonly<Record<string, ErrorEntry>>>({
  entries,
  causes,
}: ErrorFixtures<Entries>): (readonly [string, ErrorEntry, Cause])[] {
  return Object.entries(entries).map(([name, entry]) => [name, entry, causes[name] as Cause]);
}
