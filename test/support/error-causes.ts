import { readdirSync } from 'node:fs';
import type { ErrorEntry } from '../../src/platform/errors/error-catalogue.js';
import type { Answer, TestApp } from './test-app.js';

const FOLDER = new URL('../causes/', import.meta.url);

/** Gets the answer that has the error. */
export type Cause = (app: TestApp) => Promise<Answer>;

/** One way to get each error of a feature: what a file of test/causes exports. */
export interface ErrorCauses<Entries extends Readonly<Record<string, ErrorEntry>>> {
  readonly entries: Entries;
  readonly causes: Readonly<Record<keyof Entries, Cause>>;
}

/** The causes of the errors of all features, by the names of the errors. */
export async function loadErrorCauses(): Promise<(readonly [string, ErrorEntry, Cause])[]> {
  const features = await Promise.all(
    readdirSync(FOLDER).map(async (file) => {
      const module = (await import(new URL(file, FOLDER).pathname)) as {
        default: ErrorCauses<Readonly<Record<string, ErrorEntry>>>;
      };
      return module.default;
    }),
  );
  return features.flatMap(listCauses);
}

export function listCauses<Entries extends Readonly<Record<string, ErrorEntry>>>({
  entries,
  causes,
}: ErrorCauses<Entries>): (readonly [string, ErrorEntry, Cause])[] {
  return Object.entries(entries).map(([name, entry]) => [name, entry, causes[name] as Cause]);
}
