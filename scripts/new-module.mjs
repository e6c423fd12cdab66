import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';

// npm run new:module -- beds bed: copies the module plants, with its tests, under other names, and
// adds the copy to the application.

const MODULES = 'src/modules';
const USAGE =
  'Name the module in the plural and in the singular, in small letters: npm run new:module -- beds bed [--from <folder of a module>]';

const options = { from: { type: 'string', default: `${MODULES}/plants` } };
const { values, positionals } = parseArgs({ options, allowPositionals: true, strict: false });
const [plural, singular] = positionals;
const from = String(values.from).replace(/\/$/, '');
const isNamed = positionals.length === 2 && positionals.every((name) => /^[a-z]+$/.test(name));
if (!isNamed || plural === singular || !existsSync(from) || existsSync(`${MODULES}/${plural}`)) {
  console.error(isNamed ? `${MODULES}/${plural} exists, or ${from} does not. ${USAGE}` : USAGE);
  process.exit(1);
}

const oldPlural = basename(from);
const oldSingular = basename(list(from, '.entity.ts')[0], '.entity.ts');
const codes = new Map(drawCodes(readCodes(from)));
// The first migration creates the present table. The later ones are for stores that have an older one.
const [migration, ...laterMigrations] = list(from, '.ts')
  .filter((path) => path.startsWith('migrations/'))
  .sort();
// The copy of the migration runs after all others.
const times = readFileSync('src/schema.ts', 'utf8').match(/\d{13}/g);
const time = String(Math.max(Date.now(), ...times.map((taken) => Number(taken) + 1)));

for (const path of list(from, '.ts').filter((path) => !laterMigrations.includes(path))) {
  const target = `${MODULES}/${plural}/${rename(path)}`;
  mkdirSync(dirname(target), { recursive: true });
  const text = readFileSync(join(from, path), 'utf8');
  await write(target, rename(moveImports(text, dirname(join(from, path)), dirname(target))));
}
for (const path of list(from, '.entity.ts')) {
  const [, entity] = /export class (\w+)/.exec(readFileSync(join(from, path), 'utf8'));
  await register('src/schema.ts', 'entities', rename(entity), rename(path).slice(0, -3));
}
const Plural = capitalize(plural);
await register(
  'src/schema.ts',
  'migrations',
  `Create${Plural}${time}`,
  rename(migration.slice(0, -3)),
);
await register('src/app.module.ts', 'imports', `${Plural}Module`, `${plural}.module`);
console.log(
  `Now: npm run openapi && npm run jest -- --selectProjects sqlite -- ${MODULES}/${plural}`,
);

/** Renames the module, its error codes and its migrations in a text. */
function rename(text) {
  const names = [
    [oldPlural, plural],
    [oldSingular, singular],
  ];
  let renamed = text;
  for (const [before, after] of names) {
    for (const spell of [(name) => name, capitalize, (name) => name.toUpperCase()]) {
      renamed = renamed.replaceAll(spell(before), spell(after));
    }
  }
  if (/^[aeiou]/.test(singular)) renamed = renamed.replaceAll(` a ${singular}`, ` an ${singular}`);
  for (const [before, after] of codes) {
    renamed = renamed.replaceAll(new RegExp(`\\b${before}\\b`, 'g'), after);
  }
  return renamed.replaceAll(basename(migration).slice(0, 13), time);
}

/** Lets the imports of a file in one folder lead to the same files from another folder. */
function moveImports(text, before, after) {
  return text.replaceAll(/'(\.\.?\/[^']+)'/g, (whole, path) => {
    const target = join(before, path);
    return target.startsWith(`${from}/`) ? whole : `'${relative(after, target)}'`;
  });
}

/** Lists the files of a folder whose names end so, as paths from the folder. */
function list(folder, ending) {
  const paths = existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
  return paths.map(String).filter((path) => path.endsWith(ending));
}

/** Reads the codes of the errors that the modules in a folder define. */
function readCodes(folder) {
  return list(folder, '.errors.ts').flatMap((path) =>
    [...readFileSync(join(folder, path), 'utf8').matchAll(/error: (\d+)/g)].map(([, code]) => code),
  );
}

/** Draws a code of six digits for each code: its status and three digits that no module uses. */
function drawCodes(ownCodes) {
  const taken = new Set(readCodes(MODULES));
  return ownCodes.map((code) => {
    let next = Number(code.slice(0, 3)) * 1_000 + 101;
    while (taken.has(String(next))) next++;
    taken.add(String(next));
    return [code, String(next)];
  });
}

/** Adds a name at the end of a list in a file, and its import. */
async function register(file, list, name, path) {
  const text = readFileSync(file, 'utf8');
  const listed = text.replace(
    new RegExp(`(\\b${list}: \\[[^\\]]*?),?(\\s*\\])`),
    (_, items, end) => `${items}, ${name}${end}`,
  );
  await write(file, `import { ${name} } from './modules/${plural}/${path}.js';\n${listed}`);
}

async function write(file, text) {
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
}

function capitalize(name) {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
