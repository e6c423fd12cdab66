import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import ts from 'typescript';

// Writes docs/names.md, docs/store-names.md and docs/service-names.md from the doc comments of the
// names. It fails for a name without a sentence or an example.

const PLATFORM = { name: 'durable-rest', index: 'packages/platform/src/index.ts' };
const STORE = { name: 'durable-store', index: 'packages/store/src/index.ts' };
const JSON_DOOR = { name: 'durable-store/json', index: 'packages/store/src/json.ts' };
const PROGRAM = { name: 'durable-rest/program', index: 'packages/platform/src/program.ts' };
const TESTING = { name: 'durable-rest/testing', index: 'packages/platform/src/testing.ts' };
type Door = typeof PLATFORM;

/** Errors that callers of the store may catch are the members of this type. */
const ERRORS = 'StoreError';

const MODULES = `# Names for modules

Here you look up a name that modules import from \`durable-rest\`: what it does, and an example.
[Modules](modules.md) shows how to use the names together. [Names of the store](store-names.md) has
the other names of \`durable-store\`, and [names for services](service-names.md) the names for
programs and tests.

The examples leave out their imports. A method with a decorator stands without its class. \`plants\`
and \`sales\` are the repository or the service of plants or sales. \`npm run openapi\` writes this page from
the doc comments, and each example is compiled.
`;

const OF_STORE = `# Names of the store

Here you look up a name of \`durable-store\` or \`durable-store/json\` that \`durable-rest\` does not have.
[Names for modules](names.md) has the others, and explains the examples.
`;

const OF_SERVICES = `# Names for services

Here you look up a name of \`durable-rest/program\`, for what a service runs, or of
\`durable-rest/testing\`, for its tests in Jest. [Names for modules](names.md) explains the examples.
`;

const METHODS = `
## The methods of a repository

\`BatchedRepository\` has these methods. The doc comment of each says what its arguments are and which
errors it throws. A call with a \`manager\` is part of the manager's transaction.
`;

const CAUGHT = `
## The errors that a program may catch

\`${ERRORS}\` is the type of them all. A request whose handler throws one gets the answer that
\`toApiError()\` makes of it. Only code that can do more than that needs to catch one.
`;

/** The sources in which a reader finds a name in use: the pattern to copy first. */
const SOURCES = ['src/modules/plants', 'examples', 'test/modules', 'test/nest'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
    .sort()
    .map((file) => ({
      path: join(folder, file),
      text: readFileSync(join(folder, file), 'utf8'),
    })),
);

const program = ts.createProgram(
  [PLATFORM, STORE, JSON_DOOR, PROGRAM, TESTING].map(({ index }) => index),
  {
    experimentalDecorators: true,
    module: ts.ModuleKind.NodeNext,
    customConditions: ['source'],
    target: ts.ScriptTarget.ES2022,
  },
);
const checker = program.getTypeChecker();
/** The names that a page has already, since a door may pass on the names of another one. */
const written = new Set<ts.Symbol>();

const modules = writeDoor(PLATFORM);
const methods = makeTable(
  ['call', 'resolves with', 'what it does'],
  listMethods(find('BatchedRepository')),
);
const errors = makeTable(['error', 'when', 'what the caller can do'], listErrors());
writePage('docs/names.md', [MODULES, ...modules, METHODS, ...methods, CAUGHT, ...errors, '']);
writePage('docs/store-names.md', [OF_STORE, ...writeDoor(STORE), ...writeDoor(JSON_DOOR)]);
writePage('docs/service-names.md', [OF_SERVICES, ...writeDoor(PROGRAM), ...writeDoor(TESTING)]);

function writePage(path: string, parts: readonly string[]): void {
  writeFileSync(path, parts.join('\n'));
}

/** Writes a section for each group of names in the file of a door, in its order. */
function writeDoor(door: Door): string[] {
  const file = getFile(door);
  return file.statements.filter(ts.isExportDeclaration).flatMap((statement) => {
    const group = readGroup(file, statement);
    const names = listNames(statement).filter(([, original]) => !written.has(original));
    for (const [, original] of names) written.add(original);
    const sections = names.map(([name, original]) => writeName(door, name, original));
    return [...(group === undefined ? [] : [`## ${group}\n`]), ...sections];
  });
}

function getFile({ index }: Door): ts.SourceFile {
  const file = program.getSourceFile(index);
  if (!file) throw new Error(`${index} does not exist`);
  return file;
}

/** Reads the comment above an export, which begins a group of names. */
function readGroup(file: ts.SourceFile, statement: ts.Node): string | undefined {
  const comment = ts.getLeadingCommentRanges(file.text, statement.getFullStart())?.at(-1);
  return comment && file.text.slice(comment.pos, comment.end).replace('// ', '');
}

function listNames({ exportClause }: ts.ExportDeclaration): (readonly [string, ts.Symbol])[] {
  if (!exportClause || !ts.isNamedExports(exportClause)) throw new Error('A door lists its names');
  return exportClause.elements.map(({ name }) => {
    const symbol = checker.getSymbolAtLocation(name);
    if (!symbol) throw new Error(`${name.text} does not exist`);
    return [name.text, checker.getAliasedSymbol(symbol)] as const;
  });
}

function writeName({ name: door }: Door, name: string, original: ts.Symbol): string {
  const { description, tags } = readComment(original);
  const list = (tag: string): string[] =>
    tags.filter((one) => one.name === tag).map(({ text }) => text);
  const [example] = list('example');
  if (example === undefined) throw new Error(`${name} has no @example in its doc comment`);
  const notes = [
    ...list('param').map((text) => text.replace(/^\w+/, '`$&`:')),
    ...list('returns').map((text) => `Returns ${text}`),
    ...list('throws').map((text) => `Throws ${text}`),
  ];
  const from = [`From \`${door}\`.`, ...list('see').map((text) => `See ${text}.`), linkUse(name)];
  return [
    `### \`${name}\`\n`,
    `${description}\n`,
    ...notes.map((note) => `- ${note.replaceAll(/\s+/g, ' ')}`),
    `\n${example}\n`,
    `${from.join(' ').trim()}\n`,
  ].join('\n');
}

interface Comment {
  readonly description: string;
  readonly tags: readonly { readonly name: string; readonly text: string }[];
}

/** Reads a doc comment. The parser of TypeScript takes the decorators of an example for tags. */
function readComment(original: ts.Symbol): Comment {
  const nodes = original.declarations?.flatMap((node) => ts.getJSDocCommentsAndTags(node)) ?? [];
  const text = nodes.find(ts.isJSDoc)?.getText() ?? '';
  const [description = '', ...tags] = text
    .replaceAll(/^\/\*\* ?|\s*\*\/$/g, '')
    .replaceAll(/^ *\* ?/gm, '')
    .replaceAll(/\{@link\s+(https:\S+)\s+([^}]+)\}/g, '[$2]($1)')
    .replaceAll(/\{@link\s+([\w.]+)\}/g, '`$1`')
    .split(/^@(?=(?:example|param|returns|see|throws)\b)/m);
  return {
    description: description.trim(),
    tags: tags.map((tag) => {
      const [name = ''] = /^\w+/.exec(tag) ?? [];
      return { name, text: tag.slice(name.length).trim() };
    }),
  };
}

function readFirstSentence(original: ts.Symbol): string {
  const text = readComment(original).description.replaceAll(/\s+/g, ' ');
  const [sentence] = /^.+?\.(?= |$)/.exec(text) ?? [];
  if (sentence === undefined) throw new Error(`${original.name} has no sentence as doc comment`);
  return sentence;
}

/** Links the first source that imports a name. */
function linkUse(name: string): string {
  const imported = new RegExp(String.raw`import [^;]*\b${name}\b[^;]*from 'durable-(?:rest|store)`);
  const source = SOURCES.find(({ text }) => imported.test(text));
  return source ? `Used in [${basename(source.path)}](../${source.path}).` : '';
}

function find(wanted: string): ts.Symbol {
  const statements = getFile(STORE).statements.filter(ts.isExportDeclaration);
  const found = statements.flatMap(listNames).find(([name]) => name === wanted);
  if (!found) throw new Error(`${STORE.name} does not have ${wanted}`);
  return found[1];
}

function makeTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => {
    const escaped = cells.map((cell) => cell.replaceAll('|', String.raw`\|`));
    return `| ${escaped.join(' | ')} |`;
  };
  return [line(head), line(head.map(() => '-')), ...rows.map(line)];
}

/** Lists the methods of a class that modules call, in the order of the source. */
function listMethods(original: ts.Symbol): string[][] {
  const declaration = original.declarations?.find(ts.isClassDeclaration);
  if (!declaration) throw new Error(`${original.name} is not a class`);
  return declaration.members.filter(ts.isMethodDeclaration).flatMap((method) => {
    const member = checker.getSymbolAtLocation(method.name);
    const signature = checker.getSignatureFromDeclaration(method);
    const isPrivate = ts.getCombinedModifierFlags(method) & ts.ModifierFlags.Private;
    // Nest calls its hooks, which return no promise.
    const result = signature && checker.getAwaitedType(signature.getReturnType());
    if (!member || !result || isPrivate || member.name.startsWith('on')) return [];
    const parameters = method.parameters.map(({ name, questionToken, initializer }) =>
      (questionToken ?? initializer) ? `${name.getText()}?` : name.getText(),
    );
    const type = checker.typeToString(result, undefined, ts.TypeFormatFlags.InTypeAlias);
    const call = `\`${member.name}(${parameters.join(', ')})\``;
    return [[call, `\`${type}\``, readFirstSentence(member)]];
  });
}

/** Lists the members of the union of errors, and fails for an error of the store that it lacks. */
function listErrors(): string[][] {
  const declaration = find(ERRORS).declarations?.find(ts.isTypeAliasDeclaration);
  if (!declaration || !ts.isUnionTypeNode(declaration.type)) {
    throw new Error(`${ERRORS} is not a union`);
  }
  const names = declaration.type.types.map((type) => type.getText());
  const exported = getFile(STORE).statements.filter(ts.isExportDeclaration).flatMap(listNames);
  const missing = exported
    .map(([name]) => name)
    .filter((name) => name.endsWith('Error') && name !== ERRORS && !names.includes(name));
  if (missing.length > 0) throw new Error(`${ERRORS} lacks ${missing.join()}`);
  return names.map((name) => {
    const original = find(name);
    const when = readFirstSentence(original);
    const [paragraph = ''] = readComment(original).description.split('\n\n');
    const advice = paragraph.replaceAll(/\s+/g, ' ').slice(when.length).trim();
    if (advice === '') throw new Error(`${name} does not say what its caller can do`);
    return [`\`${name}\``, when, advice];
  });
}
