import { expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inNewFolder } from '../../../../test/support/new-folder.js';
import { createDataSource } from '../open/open-database.js';

const LOADED = Symbol.for('durable-store.loaded');

it('a program with two copies of the package does not start, and says which they are', async () => {
  await inNewFolder(async (path) => {
    const folders = (globalThis as Record<symbol, unknown>)[LOADED] as Set<string>;
    const other = `${pathToFileURL(path).href}/`;
    writeFileSync(join(path, 'package.json'), '{"version":"1.9.9"}');
    expect(folders.size).toBe(1);
    folders.add(other);
    const own = new URL('../../', import.meta.url).pathname;
    const packageJson = readFileSync(join(own, 'package.json'), 'utf8');
    const { version } = JSON.parse(packageJson) as { version: string };
    const open = (): unknown => createDataSource({ type: 'sqlite', database: ':memory:' });
    expect(open).toThrow(
      `more than one durable-store: ${version} in ${own} and 1.9.9 in ${path}/. Let all packages use one`,
    );
    folders.delete(other);
    await Promise.resolve();
  });
});
