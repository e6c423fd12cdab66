import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DOCUMENTS, ROOT } from '../support/documents.js';

const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
  scripts: Record<string, string>;
};

describe.each(DOCUMENTS)('%s', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8');

  it('links only to files and headings that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)/g)].map(([, link = '']) => link);
    const dead = links.filter((link) => {
      const [file = '', heading] = link.split('#');
      const target = file === '' ? join(ROOT, path) : join(ROOT, dirname(path), file);
      return !existsSync(target) || (heading !== undefined && !listHeadings(target).has(heading));
    });
    expect(dead).toEqual([]);
  });

  it('names only scripts, sources and tests that exist', () => {
    const named = [...text.matchAll(/\bnpm run (?:-s )?([\w:-]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
    const files = [...text.matchAll(/`((?:src|test)\/[\w./-]+\.(?:ts|mjs))`/g)];
    const missing = files.map(([, file = '']) => file).filter((file) => !existsSync(ROOT + file));
    expect(path === 'CHANGELOG.md' ? [] : missing).toEqual([]);
  });
});

/** Lists the anchors of a document's headings, as on GitHub. */
function listHeadings(file: string): Set<string> {
  const headings = readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm);
  return new Set(
    [...headings].map(([, text = '']) =>
      text
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
