import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as prettier from 'prettier';

// npm run new:module -- gardens: writes a feature with its tests, and makes the program load it.

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TEMPLATE = fileURLToPath(new URL('template/', import.meta.url));
const USAGE = `npm run new:module -- <names, in the plural> [--singular <name>] [--errors <number>]
  The names are of small letters, with hyphens between words: gardens, plant-pots
  --singular  what one of them is called, where it is not the plural without its s
  --errors    the first of the ten numbers of each status for its errors: 10, 20, ... 80`;

const { values, positionals } = readArguments();
const [plural] = positionals;
const singular = values.singular ?? singularOf(plural ?? '');
for (const name of [plural, singular]) {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name ?? '')) fail(USAGE);
}
if (![plural, singular].every(isVariable))
  fail(`${singular} is a word of TypeScript: choose another`);
if (plural === singular) fail(`Say what one of the ${plural} is called: --singular <name>`);
if (existsSync(join(ROOT, 'src/modules', plural))) fail(`There is src/modules/${plural} already`);

const words = wordsOf();
const created = readdirSync(TEMPLATE, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.txt'))
  .map((path) => ({
    path: fill(path.replace(/^src\//, `src/modules/${plural}/`).replace(/\.txt$/, '')),
    text: fill(readFileSync(join(TEMPLATE, path), 'utf8')),
  }));
for (const { path } of created) if (existsSync(join(ROOT, path))) fail(`There is ${path} already`);
for (const { path, text } of created) await write(path, text);
await edit('src/schema.ts', (text) => {
  const folder = `./modules/${plural}`;
  const migration = `Create${words.Plural}${words.timestamp}`;
  const file = `${folder}/migrations/${words.timestamp}-create-${plural}.js`;
  const listed = append(append(text, 'entities', words.Singular), 'migrations', migration);
  return addImports(listed, [
    [words.Singular, `${folder}/${singular}.entity.js`],
    [migration, file],
  ]);
});
await edit('src/app.module.ts', (text) =>
  addImports(append(text, 'imports', `${words.Plural}Module`), [
    [`${words.Plural}Module`, `./modules/${plural}/${plural}.module.js`],
  ]),
);
console.log('Writing the OpenAPI document, the table of errors and the types of clients');
execFileSync('npm', ['run', '--silent', 'openapi'], { cwd: ROOT, stdio: 'inherit' });
console.log(`Now: npm test -- ${plural}`);

function readArguments() {
  try {
    const options = { singular: { type: 'string' }, errors: { type: 'string' } };
    return parseArgs({ options, allowPositionals: true });
  } catch {
    return fail(USAGE);
  }
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

function isVariable(name) {
  try {
    return Boolean(new Function(`"use strict"; let ${camel(name)}`));
  } catch {
    return false;
  }
}

function singularOf(name) {
  return name.endsWith('ies') ? name.replace(/ies$/, 'y') : name.replace(/s$/, '');
}

/** What stands in the template between {{ and }}. */
function wordsOf() {
  const first = firstErrorNumber();
  const article = /^[aeiou]/.test(singular) ? 'an' : 'a';
  const spaced = (name) => name.replaceAll('-', ' ');
  const aSingular = `${article} ${spaced(singular)}`;
  return {
    Plural: pascal(plural),
    Singular: pascal(singular),
    plural: camel(plural),
    singular: camel(singular),
    SINGULAR: singular.replaceAll('-', '_').toUpperCase(),
    'plural-file': plural,
    'singular-file': singular,
    'plural words': spaced(plural),
    'singular words': spaced(singular),
    'a singular': aSingular,
    'A singular': aSingular.replace('a', 'A'),
    table: plural.replaceAll('-', '_'),
    timestamp: String(Math.max(Date.now(), lastMigration() + 1)),
    first: String(first),
    second: String(first + 1),
    last: String(first + 9),
  };
}

function pascal(name) {
  return name.replaceAll(/(?:^|-)(.)/g, (_, letter) => letter.toUpperCase());
}

function camel(name) {
  return name.replaceAll(/-(.)/g, (_, letter) => letter.toUpperCase());
}

function sources(pattern) {
  return readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    pattern.test(path),
  );
}

/** Migrations run in the order of the times in their names. */
function lastMigration() {
  const times = sources(/\/migrations\/\d+-/).map((path) => /\/(\d+)-/.exec(path)?.[1]);
  return Math.max(...times.map(Number));
}

/** The first of ten numbers that no other feature has for its errors. */
function firstErrorNumber() {
  const taken = sources(/\.errors\.ts$/).map((path) => {
    const text = readFileSync(join(ROOT, 'src', path), 'utf8');
    return (/numbers: \[(\d+), (\d+)\]/.exec(text) ?? []).slice(1).map(Number);
  });
  const isFree = (number) =>
    taken.every(([first, last]) => number + 9 < first || number > last || first === undefined);
  const numbers = [10, 20, 30, 40, 50, 60, 70, 80].filter(isFree);
  const wanted = values.errors === undefined ? numbers[0] : Number(values.errors);
  if (wanted === undefined || !numbers.includes(wanted)) {
    fail(`--errors may be ${numbers.join(', ') || 'none: all are taken'}`);
  }
  return wanted;
}

function fill(text) {
  return text.replaceAll(/\{\{([\w -]+)\}\}/g, (_, word) => {
    if (words[word] === undefined) throw new TypeError(`the template has the unknown ${word}`);
    return words[word];
  });
}

async function write(path, text) {
  const file = join(ROOT, path);
  const options = await prettier.resolveConfig(file);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, await prettier.format(text, { ...options, filepath: file }));
  console.log(path);
}

async function edit(path, change) {
  await write(path, change(readFileSync(join(ROOT, path), 'utf8')));
}

/** Adds an element to the first array that is a property of this name. */
function append(text, property, element) {
  const list = new RegExp(`\\b${property}: \\[((?:[^\\[\\]]|\\[[^\\]]*\\])*?),?\\s*\\]`);
  if (!list.test(text)) fail(`Add ${element} to ${property}: it is not where it used to be`);
  return text.replace(list, (_, elements) => `${property}: [${elements}, ${element}]`);
}

function addImports(text, imports) {
  const lines = imports.map(([name, from]) => `import { ${name} } from '${from}';\n`);
  return text.replace(/^(?:import .*?;\n)+/s, (present) => present + lines.join(''));
}
