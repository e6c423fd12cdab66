/** Matches an import with names, and its path. An import without names may need its position. */
const IMPORT = /^import [^'";]* from ['"]([^'"]+)['"][^;\n]*;\n/gm;

/** Adds an import before the first file with a later path, or else after the last import. */
exports.addImport = addImport;
function addImport(text, added) {
  const { path } = listImports(added)[0];
  const imports = listImports(text);
  const next = imports.find((one) => isFile(one) && one.path > path);
  const end = next?.start ?? imports.at(-1)?.end ?? 0;
  return text.slice(0, end) + added + text.slice(end);
}

/** Sorts the imports of files by their paths, and the names of each. Those of packages stay first. */
exports.sortImports = (text) => {
  let sorted = text;
  const files = listImports(text).filter(isFile);
  for (const { statement } of files) sorted = sorted.replace(statement, '');
  for (const { statement } of files) sorted = addImport(sorted, sortNames(statement));
  return sorted;
};

function listImports(text) {
  return [...text.matchAll(IMPORT)].map(({ 0: statement, 1: path, index }) => ({
    statement,
    path,
    start: index,
    end: index + statement.length,
  }));
}

function isFile({ path }) {
  return path.startsWith('.');
}

function sortNames(statement) {
  return statement.replace(/\{[^}]*\}/, (braces) => {
    const names = braces.match(/(?:type )?\w+/g);
    const nameOf = (name) => name.replace('type ', '');
    names.sort((a, b) => nameOf(a).localeCompare(nameOf(b), 'en'));
    return `{ ${names.join(', ')} }`;
  });
}
