import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// Copies the documents into the package in the current folder, when npm pack makes it. The files of
// this repository that they name are copied too, since a service has the package alone.

const ROOT = join(import.meta.dirname, '..');
const NAMED = 'repository';
/** The modules that the documents show. */
const EXAMPLES = ['examples/nursery', 'src/modules/plants'];
const LINKS = /(?<=\]\()\.\.\/(?<path>[^)#]+)/g;

cpSync(join(ROOT, 'docs'), 'docs', { recursive: true });
for (const path of EXAMPLES) copyNamed(path);
for (const name of readdirSync('docs')) {
  if (name.endsWith('.md')) copyLinked(join('docs', name));
}

function copyLinked(document) {
  const text = readFileSync(document, 'utf8');
  for (const { groups } of text.matchAll(LINKS)) copyNamed(groups.path);
  writeFileSync(document, text.replace(LINKS, `${NAMED}/$<path>`));
}

function copyNamed(path) {
  cpSync(join(ROOT, path), join('docs', NAMED, path), { recursive: true });
}
