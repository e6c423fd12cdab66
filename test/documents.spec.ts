import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = new URL('../', import.meta.url).pathname;

const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
  scripts: Record<string, string>;
};

/** The path of each document below the root. */
const DOCUMENTS = ['', 'docs', 'client', 'bench'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: folder === 'docs', encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file)),
);

describe.each([...DOCUMENTS, '.ci/run', '.github/workflows/ci.yml', 'Dockerfile'])('%s', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8');

  it('names only scripts that exist', () => {
    const named = [...text.matchAll(/\bnpm run (?:-s )?([\w:-]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  it('links only to files that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]+)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !existsSync(join(ROOT, dirname(path), link)))).toEqual([]);
  });
});

describe('docs/security.md', () => {
  it('names tests that exist', () => {
    const text = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
    const tests = [...text.matchAll(/`(test\/[\w./-]+)`: "([^"]+)"/g)];
    expect(tests).toHaveLength(10);
    const missing = tests.filter(
      ([, path = '', title = '']) => !readFileSync(join(ROOT, path), 'utf8').includes(`'${title}'`),
    );
    expect(missing.map(([row]) => row)).toEqual([]);
  });
});
