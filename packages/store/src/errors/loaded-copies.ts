import { readFileSync } from 'node:fs';
import { DatabaseStartError } from './store.errors.js';

/** All copies of this package know this symbol, whatever their versions. */
const LOADED = Symbol.for('durable-store.loaded');

/** The folders of the copies of this package that the program has loaded. */
const folders = ((globalThis as Record<symbol, unknown>)[LOADED] ??= new Set()) as Set<string>;
folders.add(new URL('../../', import.meta.url).href);

/** @throws DatabaseStartError when the program has loaded two: neither knows the classes of the other */
export function assertOneCopy(): void {
  if (folders.size === 1) return;
  const copies = [...folders].map(describe).join(' and ');
  throw new DatabaseStartError(
    `The program has loaded more than one durable-store: ${copies}. Let all packages use one version, and install again`,
  );
}

function describe(folder: string): string {
  const { version } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as {
    version: string;
  };
  return `${version} in ${new URL(folder).pathname}`;
}
