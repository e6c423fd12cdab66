const { existsSync, readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const pluralize = require('pluralize');
const { addImport, sortImports } = require('./imports.cjs');
const { LEAST } = require('./least.cjs');
const { GRAPHQL, printHint, writeFormatted } = require('./output.cjs');

const MODULES = 'src/modules';
/** The module plants: beside this file in the package of create/build.mjs, or in this repository. */
const PATTERN = [join(__dirname, 'pattern'), join(__dirname, '../..', MODULES, 'plants')].find(
  existsSync,
);
/** Names that the code of the pattern uses already. */
const TAKEN = ['id', 'error', 'name', 'tag', 'plant', 'change', 'import', 'result', 'manager'];

/**
 * npx nest g resource beds: copies the module plants with its tests under other names, and adds the
 * copy to the application. With --type=least, writes a module that creates, reads and lists. Nest
 * calls a second name the path: here it is the word for one, as in npx nest g resource species
 * specimen.
 */
exports.resource =
  ({ name = '', path: singular, type = 'rest', crud = true }) =>
  async (tree) => {
    checkType(type, crud);
    const many = splitWords(name);
    const one =
      singular === undefined
        ? [...many.slice(0, -1), pluralize.singular(many.at(-1))]
        : splitWords(singular);
    checkNames(tree, many, one, singular === undefined);
    // TypeORM runs migrations in the order of their times, so the new one must be the last. Another
    // machine's clock may have been ahead.
    const times = tree.readText('src/schema.ts').match(/\d{13}/g) ?? [];
    const names = {
      many,
      one,
      time: String(Math.max(Date.now(), ...listTimes(tree), ...times) + 1),
    };
    const plural = kebab(many);
    const pattern = type === 'least' ? LEAST : readPattern();
    for (const [path, text] of copyPattern(tree, pattern, names)) {
      await writeFormatted(tree, `${MODULES}/${plural}/${path}`, text);
    }
    const folder = `./modules/${plural}`;
    const migration = `Create${pascal(many)}${names.time}`;
    await register(
      tree,
      'src/schema.ts',
      'entities',
      pascal(one),
      `${folder}/${kebab(one)}.entity`,
    );
    await register(
      tree,
      'src/schema.ts',
      'migrations',
      migration,
      `${folder}/migrations/${names.time}-create-${plural}`,
    );
    await register(
      tree,
      'src/app.module.ts',
      'imports',
      `${pascal(many)}Module`,
      `${folder}/${plural}.module`,
    );
    const { scripts } = JSON.parse(tree.readText('package.json'));
    const document = 'openapi' in scripts ? 'npm run openapi && ' : '';
    printHint(`Now: ${document}npm run jest -- --selectProjects sqlite -- ${MODULES}/${plural}`);
    return () => tree;
  };

function splitWords(name) {
  return String(name)
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_ ]/);
}

/** @throws Error for a type that Nest's own schematic makes, and this one does not */
function checkType(type, crud) {
  if (type.startsWith('graphql')) throw new Error(GRAPHQL);
  if (type !== 'rest' && type !== 'least') {
    throw new Error('The type of a resource is "rest", which has every operation, or "least"');
  }
  // Nest's command line passes a text.
  if (String(crud) !== 'false') return;
  throw new Error(
    'A resource has operations: leave out --crud=false, or write nest g module, controller and service',
  );
}

/** @throws Error before anything is written, for names that cannot be those of a module */
function checkNames(tree, many, one, isDerived) {
  const [plural, singular] = [camel(many), camel(one)];
  if (![many, one].every((words) => /^[a-z]+(?:-[a-z]+)*$/.test(kebab(words)))) {
    throw new Error(
      'Name the resource in the plural, in letters and hyphens: nest g resource order-items',
    );
  }
  const isPlural = !isDerived || pluralize.plural(many.at(-1)) === many.at(-1);
  if (!isPlural || plural === singular) {
    throw new Error(
      `"${kebab(many)}" is not the plural of another word: add the word for one, as in nest g resource species specimen`,
    );
  }
  if ([plural, singular].some((word) => TAKEN.includes(word) || !isIdentifier(word))) {
    throw new Error(`The code cannot use the names ${plural} and ${singular}: choose another name`);
  }
  if (tree.getDir(`${MODULES}/${kebab(many)}`).subfiles.length > 0) {
    throw new Error(`${MODULES}/${kebab(many)} exists`);
  }
}

function isIdentifier(word) {
  try {
    return typeof new Function(`'use strict'; let ${word}; const await = 0;`) === 'function';
  } catch {
    return false;
  }
}

/** Reads the files of plants, without the migrations of stores that have an older table. */
function readPattern() {
  const paths = readdirSync(PATTERN, { recursive: true }).filter((path) => path.endsWith('.ts'));
  const [, ...later] = paths.filter((path) => path.startsWith('migrations/')).sort();
  const copied = paths.filter((path) => !later.includes(path));
  return Object.fromEntries(
    copied.map((path) => [path, readFileSync(join(PATTERN, path), 'utf8')]),
  );
}

/** Renames the files of a pattern, with error codes and a migration of their own. */
function copyPattern(tree, pattern, { many, one, time }) {
  const codes = drawCodes(tree, pattern['plants.errors.ts']);
  return Object.entries(pattern).map(([path, original]) => {
    let text = renameWords(generalize(original), many, one);
    for (const [before, after] of codes) {
      text = text.replaceAll(new RegExp(`\\b${before}\\b`, 'g'), after);
    }
    const target = path.replaceAll('plants', kebab(many)).replaceAll('plant', kebab(one));
    text = sortImports(text.replaceAll(/(?<=Create\w+)\d{13}/g, time));
    return [target.replace(/\d{13}/, time), text];
  });
}

/** Texts about plants, and texts that are true of any resource. */
const GENERAL = {
  Monstera: 'My plant',
  Ficus: 'Other plant',
  "'mon'": "'my'",
  indoor: 'new',
  fern: 'new',
  'Tag to specify the type': 'A word that several plants share',
  'with the same id, name and tag': 'with the same members',
};

/** Replaces the texts that are true only of plants. */
function generalize(text) {
  let general = text;
  for (const [before, after] of Object.entries(GENERAL)) {
    general = general.replaceAll(before, after);
  }
  return general;
}

/** Matches a comment, a text, a template, or a name. */
const TOKEN = /\/\*[^]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|[A-Za-z_$][\w$]*/g;

/** Matches the path of a resource, and its tag in the OpenAPI document. */
const PATH = /(@Controller\((?:\{ path: )?|@ApiTag\()'plants'/g;

/** Puts other words in place of plants, spelled as each place needs. */
function renameWords(text, many, one) {
  const put = (spell) => (part) =>
    part
      .replaceAll('PLANTS', upper(many))
      .replaceAll('PLANT', upper(one))
      .replaceAll('Plants', pascal(many))
      .replaceAll('Plant', pascal(one))
      .replaceAll('plants', spell(many))
      .replaceAll('plant', spell(one));
  const paths = text.replaceAll(PATH, (_, head) => `${head}'${kebab(many)}'`);
  return paths.replaceAll(TOKEN, (token) => {
    const isText = /^['`]/.test(token);
    if (isText && /^.[./]|\/plants/.test(token)) return put(kebab)(token);
    if (isText && / /.test(token)) return article(put(spaced)(token), one);
    if (isText) return put(snake)(token);
    return /^\//.test(token) ? article(put(spaced)(token), one) : put(camel)(token);
  });
}

function article(text, one) {
  const noun = spaced(one);
  return /^[aeiou]/.test(noun)
    ? text.replaceAll(new RegExp(`\\b([Aa]) ${noun}`, 'g'), `$1n ${noun}`)
    : text;
}

/** Draws a code of six digits for each error: its status, and three digits that no module uses. */
function drawCodes(tree, errors) {
  const taken = new Set(
    listFiles(tree.getDir(MODULES))
      .filter((path) => path.endsWith('.errors.ts'))
      .flatMap((path) => readCodes(tree.readText(`${MODULES}/${path}`))),
  );
  return readCodes(errors).map((code) => {
    let next = Number(code.slice(0, 3)) * 1_000 + 101;
    while (taken.has(String(next))) next++;
    taken.add(String(next));
    return [code, String(next)];
  });
}

function readCodes(text) {
  return [...text.matchAll(/error: (\d+)/g)].map(([, code]) => code);
}

function listTimes(tree) {
  return listFiles(tree.getDir(MODULES)).flatMap(
    (path) => path.match(/\d{13}/g)?.map(Number) ?? [],
  );
}

function listFiles(dir, prefix = '') {
  return [
    ...dir.subfiles.map((file) => prefix + file),
    ...dir.subdirs.flatMap((name) => listFiles(dir.dir(name), `${prefix}${name}/`)),
  ];
}

/** Adds a name at the end of a list in a file, and its import. */
async function register(tree, file, list, name, path) {
  const listed = tree
    .readText(file)
    .replace(
      new RegExp(`(\\b${list}: \\[[^\\]]*?),?(\\s*\\])`),
      (_, items, end) => `${items}, ${name}${end}`,
    );
  await writeFormatted(tree, file, addImport(listed, `import { ${name} } from '${path}.js';\n`));
}

function kebab(words) {
  return words.join('-');
}

function snake(words) {
  return words.join('_');
}

function spaced(words) {
  return words.join(' ');
}

function upper(words) {
  return words.join('_').toUpperCase();
}

function pascal(words) {
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function camel(words) {
  const name = pascal(words);
  return name.charAt(0).toLowerCase() + name.slice(1);
}
