import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DOCUMENTS, ROOT, listSentences } from '../support/documents.js';

const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
  scripts: Record<string, string>;
};

const MAX_WORDS_OF_SENTENCE = 25;
const MAX_WORDS_OF_PAGE = 1_200;
const MAX_WORDS_OF_README = 800;
/** They grow with every release, and with every measurement. */
const GROWING_PAGES = /^CHANGELOG\.md$|^docs\/measurements\//;

describe.each(DOCUMENTS)('%s', (path) => {
  it('has only sentences of 25 words at most', () => {
    const sentences = listSentences(path);
    expect(sentences.filter((text) => countWords(text) > MAX_WORDS_OF_SENTENCE)).toEqual([]);
  });
});

describe.each(DOCUMENTS.filter((path) => !GROWING_PAGES.test(path)))('%s', (path) => {
  const most = path === 'README.md' ? MAX_WORDS_OF_README : MAX_WORDS_OF_PAGE;
  it(`has ${most} words at most, as wc -w counts them`, () => {
    const words = readFileSync(join(ROOT, path), 'utf8').split(/\s+/);
    expect(words.filter((word) => word !== '').length).toBeLessThanOrEqual(most);
  });
});

describe.each([...DOCUMENTS, '.ci/run', '.github/workflows/ci.yml', 'Dockerfile'])('%s', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8');

  it('names only scripts that exist', () => {
    const named = [...text.matchAll(/\bnpm run (?:-s )?([\w:-]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  it('names only proofs that exist', () => {
    const commands = text.matchAll(/\bnpm run prove -- ([a-z][\w-]*)/g);
    const [, table = ''] = /^\| `npm run prove --`.*\n((?:\|.*\n)+)/m.exec(text) ?? [];
    const rows = table.matchAll(/^\| `([a-z][\w-]*)/gm);
    const named = [...commands, ...rows].map(([, name = '']) => name);
    expect(named.filter((name) => !existsSync(`${ROOT}test/proofs/${name}/${name}.ts`))).toEqual(
      [],
    );
  });

  it('links only to files and headings that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)/g)].map(([, link = '']) => link);
    const dead = links.filter((link) => {
      const [file = '', heading] = link.split('#');
      const target = file === '' ? join(ROOT, path) : join(ROOT, dirname(path), file);
      return !existsSync(target) || (heading !== undefined && !listHeadings(target).has(heading));
    });
    expect(dead).toEqual([]);
  });
});

describe.each([
  ['docs/security.md', 10],
  ['docs/testing.md', 29],
])('%s', (path, rows) => {
  it('names tests that exist', () => {
    const text = readFileSync(join(ROOT, path), 'utf8').replaceAll(/\s+/g, ' ');
    const tests = [...text.matchAll(/`((?:test|src)\/[\w./-]+)`: "([^"]+)"/g)];
    expect(tests.length).toBeGreaterThanOrEqual(rows);
    const missing = tests.filter(
      ([, file = '', title = '']) => !readFileSync(join(ROOT, file), 'utf8').includes(`'${title}'`),
    );
    expect(missing.map(([row]) => row)).toEqual([]);
  });
});

function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

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
