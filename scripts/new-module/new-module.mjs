import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as prettier from 'prettier';
import { isVariable, limitKey, readColumn, UsageError } from './columns.mjs';
import { spaced, writeFiles } from './template.mjs';

// npm run new:module -- gardens name:text area:decimal(12,2): writes a module with its tests, and
// adds it to the program.

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MODULES = 'src/modules';
const USAGE = `npm run new:module -- <names, in the plural> <column> ... [--key <key>] [--singular <name>] [--errors <number>]
  The names are of small letters, with hyphens between words: gardens, plant-pots.
  A column is a name and a type, with a ? where it may be missing: name:text(200) note:text? area:decimal(12,2)
  Types: text, text(200), text(1,200), int32, int64, decimal(12,2), boolean, enum(a,b), date, instant, uuid, json, object
  Behind the type: :unique, :sorted (lists can be sorted by it), :references(gardens) (a row goes with
  the garden that it refers to) or :references(gardens,restrict) (that garden cannot be removed).
  Write what has parentheses or a question mark in quotes: 'area:decimal(12,2)'.
  --key       what the id is: uuid or counter, which the program draws, or the columns of the key, such
              as gardenId,plantId; without it an int64 that the client gives
  --singular  what one of them is called, where it is not the plural without its s
  --errors    the first of the ten numbers of its error codes: 100, 110, ... 790`;
/** Paths and folders of the platform. */
const TAKEN_NAMES = ['docs', 'health', 'metrics', 'migrations', 'job-runs'];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

async function run() {
  const module = readModule(process.argv.slice(2));
  const { names, timestamp, references } = module;
  const folder = `${MODULES}/${names.plural}`;
  const files = [...writeFiles(module)];
  assertNoClash(module, files);
  for (const [path, text] of files) await write(`${folder}/${path}`, text);
  const migration = `Create${names.Plural}${timestamp}`;
  await edit('src/schema.ts', (text) => {
    const listed = append(append(text, 'entities', names.Singular), 'migrations', migration);
    return addImports(listed, [
      [names.Singular, `./modules/${names.plural}/${names.singular}.entity.js`],
      [migration, `./modules/${names.plural}/migrations/${timestamp}-create-${names.plural}.js`],
    ]);
  });
  await edit('src/app.module.ts', (text) =>
    addImports(append(text, 'imports', `${names.Plural}Module`), [
      [`${names.Plural}Module`, `./modules/${names.plural}/${names.plural}.module.js`],
    ]),
  );
  console.log('Writing the OpenAPI document, the table of errors and the types of clients');
  execFileSync('npm', ['run', '--silent', 'openapi'], { cwd: ROOT, stdio: 'inherit' });
  for (const { words, onDelete } of references) {
    console.log(
      onDelete === 'cascade'
        ? `A ${words} that is removed takes its ${names.pluralWords} with it; references(..., restrict) refuses that instead.`
        : `A ${words} cannot be removed while ${names.aSingular} refers to it: 40999, unless its repository names an error by "referenced".`,
    );
  }
  console.log(`Now: npm test -- ${names.plural}`);
}

/**
 * Reads the module that the arguments of the command describe.
 *
 * @param {readonly string[]} args
 * @throws UsageError
 */
export function readModule(args) {
  const { values, positionals } = readArguments(args);
  const [plural, ...written] = positionals;
  const names = nameModule(plural, values.singular);
  const columns = written.map((argument) => readColumn(argument));
  const twice = columns.find(
    ({ name }, index) => columns.findIndex((one) => one.name === name) < index,
  );
  if (twice !== undefined) throw new UsageError(`Write the column ${twice.name} once`);
  const key = readKey(values.key, columns, names);
  const table = plural.replaceAll('-', '_');
  const members = columns.filter((column) => !key.keyColumns.includes(column));
  if (members.length === 0)
    throw new UsageError('Write a column or more beside the key, such as name:text');
  const resolve = (column) => ({
    ...column,
    ...nameWords(column, names),
    ...(column.references && { references: resolveReference(column, names, table, key) }),
  });
  const keyColumns = key.keyColumns.map((column) => resolve(limitKey(column)));
  // Required members come first, as in answers.
  const isLast = ({ isOptional }) => Number(isOptional);
  const sortedMembers = members.map(resolve).sort((a, b) => isLast(a) - isLast(b));
  const all = [...keyColumns, ...sortedMembers];
  assertSizeOfKey(keyColumns);
  const keyParts = keyColumns.length > 0 ? keyColumns : [{ name: 'id' }];
  const isFirstOfKey = ({ name }) => keyParts[0].name === name;
  return {
    names,
    table,
    timestamp: String(Math.max(Date.now(), findLastMigration() + 1)),
    first: readErrorNumber(values.errors),
    ...key,
    keyColumns,
    members: sortedMembers,
    inUse: key.keyKind === 'columns' ? 'KEY_IN_USE' : 'ID_IN_USE',
    entityFile: `../${names.singular}.entity.js`,
    references: all.flatMap(({ references }) =>
      references && !references.isSelf ? [references] : [],
    ),
    uniques: all
      .filter(({ isUnique }) => isUnique)
      .map((column) => ({
        name: `${table}_${column.name}_key`,
        column,
      })),
    // Unique columns and the first column of the key have an index already.
    indexes: all
      .filter(
        (column) =>
          column.isSorted || (column.references && !column.isUnique && !isFirstOfKey(column)),
      )
      .map((column) => ({
        name: `${table}_${column.name}`,
        columns: [column, ...keyParts.filter(({ name }) => name !== column.name)],
      })),
    filters: all.filter(
      (column) =>
        column.isUnique ||
        column.isSorted ||
        column.references ||
        (keyColumns.length > 1 && isFirstOfKey(column)),
    ),
    orders: all.filter(({ isSorted }) => isSorted),
    self: all.find(({ references }) => references?.isSelf),
    errors: nameErrors(all, names),
  };
}

function readArguments(args) {
  const option = { type: 'string' };
  try {
    const options = { key: option, singular: option, errors: option };
    const read = parseArgs({ args: [...args], options, allowPositionals: true });
    if (read.positionals.length > 0) return read;
  } catch (error) {
    throw new UsageError(`${error.message}\n${USAGE}`);
  }
  throw new UsageError(USAGE);
}

/** @throws UsageError */
function nameModule(plural, given) {
  const singular = given ?? singularOf(plural);
  for (const name of [plural, singular]) {
    if (!/^[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*$/.test(name)) {
      throw new UsageError(
        `${name} is no name: write small letters, with hyphens between words\n${USAGE}`,
      );
    }
    if (!isVariable(camel(name)))
      throw new UsageError(`${name} is a word of TypeScript: choose another`);
  }
  if (plural === singular) {
    throw new UsageError(`Say what one of the ${plural} is called: --singular <name>`);
  }
  if (TAKEN_NAMES.includes(plural) || existsSync(join(ROOT, MODULES, plural))) {
    throw new UsageError(`There is ${plural} already: choose another name`);
  }
  const article = /^[aeiou]/.test(singular) ? 'an' : 'a';
  const words = spaced(singular);
  return {
    plural,
    singular,
    key: `${singular}-key`,
    Plural: pascal(plural),
    Singular: pascal(singular),
    SINGULAR: singular.replaceAll('-', '_').toUpperCase(),
    pluralName: camel(plural),
    singularName: camel(singular),
    words,
    pluralWords: spaced(plural),
    aSingular: `${article} ${words}`,
    ASingular: `${article === 'an' ? 'An' : 'A'} ${words}`,
  };
}

function singularOf(name) {
  if (name.endsWith('ies')) return name.replace(/ies$/, 'y');
  return name.replace(/(?<=x|ch|sh|ss)es$|s$/, '');
}

/** @throws UsageError */
function readKey(given, columns, { singularName }) {
  if (given === undefined) return { keyKind: 'given', drawnType: undefined, keyColumns: [] };
  if (['uuid', 'counter'].includes(given) && columns.every(({ name }) => name !== given)) {
    return { keyKind: 'drawn', drawnType: given, keyColumns: [] };
  }
  const keyColumns = given.split(',').map((name) => {
    const column = columns.find((one) => one.name === name.trim());
    if (column === undefined) {
      throw new UsageError(
        `--key ${given}: write uuid, counter, or the names of columns, such as gardenId,plantId`,
      );
    }
    if (!column.isKey || column.isOptional) {
      throw new UsageError(
        `--key ${given}: ${column.name} must be a text, int32, int64, uuid or date that is always there`,
      );
    }
    if ([singularName, 'outcome'].includes(column.name)) {
      throw new UsageError(
        `--key ${given}: choose another name than ${column.name}, such as ${column.name}Name`,
      );
    }
    return column;
  });
  if (new Set(keyColumns).size < keyColumns.length)
    throw new UsageError(`--key ${given}: write each column once`);
  return { keyKind: 'columns', drawnType: undefined, keyColumns };
}

/**
 * Checks the size of the key: an entry of an index in PostgreSQL has at most 2,704 bytes, and a
 * character up to 4.
 */
function assertSizeOfKey(keyColumns) {
  const characters = keyColumns.reduce((sum, { max = 0 }) => sum + max, 0);
  if (characters <= 600) return;
  throw new UsageError(
    'The texts of the key may have 600 characters in all: write text(200) or less',
  );
}

/** Names the constant and the type for the words of an enum. */
function nameWords({ name, words }, { Singular, SINGULAR }) {
  if (words === undefined) return {};
  const constant = `${SINGULAR}_${snake(name)}${/[sx]$/.test(name) ? 'ES' : 'S'}`;
  const type = `${Singular}${name[0].toUpperCase()}${name.slice(1)}`;
  return { constant: constant.replace(/YS$/, 'IES'), row: type };
}

/**
 * Finds the module of the table that a column refers to.
 *
 * @throws UsageError
 */
function resolveReference(
  { name, type, isOptional, references },
  names,
  ownTable,
  { keyKind, drawnType, keyColumns },
) {
  const { table, onDelete } = references;
  const where = `${name}: references(${table})`;
  if (table.replaceAll('-', '_') === ownTable) {
    const key = keyKind === 'columns' ? keyColumns[0].name : 'id';
    const keyType =
      keyKind === 'columns' ? keyColumns[0].type : drawnType === 'uuid' ? 'uuid' : 'int64';
    if (keyColumns.length > 1) throw new UsageError(`${where}: its key has several columns`);
    if (type !== keyType)
      throw new UsageError(`${where}: its key is ${keyType}, so write ${name}:${keyType}`);
    if (!isOptional)
      throw new UsageError(
        `${where}: write ${name}:${type}?, since the first of them refers to none`,
      );
    const own = { entity: names.Singular, plural: names.plural, words: names.words };
    if (onDelete === 'cascade') {
      throw new UsageError(
        `${where}: write references(${table}): one that others refer to is not removed`,
      );
    }
    return { table: ownTable, onDelete: 'restrict', key, isSelf: true, ...own };
  }
  const found = listEntities().find((one) => one.table === table.replaceAll('-', '_'));
  if (found === undefined) {
    const known = listEntities().map((one) => one.table);
    throw new UsageError(`${where}: there is no such table; write one of ${known.join(', ')}`);
  }
  if (found.keys.length !== 1) {
    throw new UsageError(
      `${where}: its key has several columns; write the foreign key in the entity and the migration by hand`,
    );
  }
  const [key] = found.keys;
  if (key.type !== type)
    throw new UsageError(`${where}: its key is ${key.type}, so write ${name}:${key.type}`);
  const causes = `${MODULES}/${found.module}/${found.module}.error-fixtures.ts`;
  if (!new RegExp(`function create${found.entity}\\(`).test(read(causes))) {
    throw new UsageError(
      `${where}: export create${found.entity}(app: TestApp, n: number) from ${causes}, for the tests`,
    );
  }
  return {
    table: found.table,
    onDelete: onDelete ?? 'cascade',
    key: key.name,
    isSelf: false,
    entity: found.entity,
    plural: found.module,
    words: spaced(found.file),
    file: `../${found.module}/${found.file}.entity.js`,
    causes: `../${found.module}/${found.module}.error-fixtures.js`,
  };
}

/** Lists the entities of the modules, with their tables and keys. */
function listEntities() {
  return sources(/^modules\/[^/]+\/[^/]+\.entity\.ts$/).map((path) => {
    const text = read(`src/${path}`);
    const [, module, file] = /^modules\/([^/]+)\/(.+)\.entity\.ts$/.exec(path);
    const keys = [...text.matchAll(/@Primary(?:Generated)?Column\((.*)\)\s+(\w+)!/g)].map(
      ([, type, name]) => ({ name, type: typeOfKey(type) }),
    );
    return {
      module,
      file,
      table: /@Entity\('([^']+)'\)/.exec(text)?.[1],
      entity: /export class (\w+)/.exec(text)?.[1],
      keys,
    };
  });
}

function typeOfKey(text) {
  if (/bigint|int64/.test(text)) return 'int64';
  return ['int32', 'uuid', 'date', 'text'].find((type) => text.includes(type)) ?? text;
}

/** Names the errors of unique columns and of references, for which there are seven numbers. */
function nameErrors(columns, { words }) {
  const errors = columns.flatMap((column) => {
    const { name, references } = column;
    const label = spaced(name);
    const unique = {
      constant: `${snake(name)}_IN_USE`,
      message: `Another ${words} has this ${label}`,
      advice: `Choose another ${label}.`,
      isReference: false,
    };
    const reference = references && {
      constant: `NO_SUCH_${snake(name.replace(/Id$/, ''))}`,
      message: `There is no ${references.words} with this ${name}`,
      advice: `Create the ${references.words} first.`,
      isReference: true,
    };
    return [...(column.isUnique ? [unique] : []), ...(reference ? [reference] : [])].map(
      (error) => ({
        ...error,
        column,
      }),
    );
  });
  if (errors.length > 7) throw new UsageError('Write at most seven unique columns and references');
  const both = errors.find(({ column, isReference }) => column.isUnique && isReference);
  if (both !== undefined) {
    throw new UsageError(
      `${both.column.name}: a column is either unique or a reference; make it the key instead`,
    );
  }
  return errors;
}

/** @throws UsageError when a class of the module has the name of an import in its files */
function assertNoClash({ names }, files) {
  const imported = files.flatMap(([, text]) =>
    [...text.matchAll(/import (?:type )?\{([^}]*)\} from '(?!\.\/)/g)].flatMap(([, list]) =>
      list.split(',').map((name) => name.replace('type ', '').trim()),
    ),
  );
  const entities = listEntities().map(({ entity }) => entity);
  if ([...imported, ...entities].includes(names.Singular) || names.Singular in globalThis) {
    throw new UsageError(
      `${names.Singular} is a class already: choose another name with --singular`,
    );
  }
}

/**
 * Reads the first of ten numbers for errors, by default the first that are free. The modules in
 * test/example have those from 800.
 */
function readErrorNumber(given) {
  const taken = sources(/\.errors\.ts$/).flatMap((path) =>
    [...read(`src/${path}`).matchAll(/error: \d{3}(\d{3}),/g)].map(([, number]) => Number(number)),
  );
  const numbers = Array.from({ length: 70 }, (_, index) => 100 + 10 * index).filter((first) =>
    taken.every((number) => number < first || number > first + 9),
  );
  const wanted = given === undefined ? numbers[0] : Number(given);
  if (numbers.includes(wanted)) return wanted;
  throw new UsageError(`--errors may be ${numbers.join(', ')}`);
}

/** Finds the last migration, since migrations run in the order of the times in their names. */
function findLastMigration() {
  const times = sources(/\/migrations\/\d+-/).map((path) => /\/(\d+)-/.exec(path)?.[1]);
  return Math.max(...times.map(Number));
}

function sources(pattern) {
  return readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => pattern.test(path))
    .sort();
}

function read(path) {
  return existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : '';
}

function pascal(name) {
  return name.replaceAll(/(?:^|-)(.)/g, (_, letter) => letter.toUpperCase());
}

function camel(name) {
  return name.replaceAll(/-(.)/g, (_, letter) => letter.toUpperCase());
}

function snake(name) {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** Formats text like the files of the project. */
export async function format(path, text) {
  const file = join(ROOT, path);
  const options = await prettier.resolveConfig(file);
  return await prettier.format(text, { ...options, filepath: file });
}

async function write(path, text) {
  const file = join(ROOT, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, await format(path, text));
  console.log(path);
}

async function edit(path, change) {
  await write(path, change(read(path)));
}

/** Adds an element to the first array that is the value of this property. */
function append(text, property, element) {
  const list = new RegExp(`\\b${property}: \\[((?:[^\\[\\]]|\\[[^\\]]*\\])*?),?\\s*\\]`);
  if (!list.test(text)) {
    throw new UsageError(`Add ${element} to ${property}: it is not where it used to be`);
  }
  return text.replace(list, (_, elements) => `${property}: [${elements}, ${element}]`);
}

function addImports(text, imports) {
  const lines = imports.map(([name, from]) => `import { ${name} } from '${from}';\n`);
  return text.replace(/^(?:import .*?;\n)+/s, (present) => present + lines.join(''));
}
