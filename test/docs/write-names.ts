import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import ts from 'typescript';

// Writes docs/names.md from the doc comments of the names, and fails for a name without one.

const INDEX = 'packages/platform/src/index.ts';

const INTRODUCTION = `# Names for modules

These are the names of the package \`durable-rest\`, and a file that uses each. [Modules](modules.md)
shows how to use them, and the doc comment of each says more. \`npm run openapi\` writes this page.
`;

const VERBS = `
## The methods of a repository

\`BatchedRepository\` has these methods. The doc comment of each says what its arguments are and which
errors it throws. A call with a \`manager\` is part of the manager's transaction.
`;

/** The sources in which a reader finds a name in use: the pattern to copy first. */
const SOURCES = ['src/modules/plants', 'examples/nursery/src', 'test/modules', 'test/nest'].flatMap(
  (folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .sort()
      .map((file) => ({
        path: join(folder, file),
        text: readFileSync(join(folder, file), 'utf8'),
      })),
);

const program = ts.createProgram([INDEX], {
  experimentalDecorators: true,
  module: ts.ModuleKind.NodeNext,
  customConditions: ['source'],
  target: ts.ScriptTarget.ES2022,
});
const checker = program.getTypeChecker();
const index = program.getSourceFile(INDEX);
const symbol = index && checker.getSymbolAtLocation(index);
if (!symbol) throw new Error(`${INDEX} exports nothing`);
const originals = new Map(
  checker
    .getExportsOfModule(symbol)
    .map((exported) => [exported.name, checker.getAliasedSymbol(exported)]),
);

const names = [...originals].map(([name, original]) => [
  `\`${name}\``,
  readFirstSentence(original),
  linkUse(name),
]);
writeFileSync(
  'docs/names.md',
  [
    INTRODUCTION,
    ...makeTable(['name', 'what it is or does', 'used in'], names),
    VERBS,
    ...makeTable(
      ['call', 'resolves with', 'what it does'],
      listMethods(originals.get('BatchedRepository')),
    ),
    '',
  ].join('\n'),
);

function makeTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '-')), ...rows.map(line)];
}

function readFirstSentence(original: ts.Symbol): string {
  const comment = original.getDocumentationComment(checker);
  const text = ts
    .displayPartsToString(comment)
    .replaceAll(/\{@link[\s*]+(\w+)\}/g, '`$1`')
    .replaceAll(/\s+/g, ' ');
  const [sentence] = /^.+?\.(?= |$)/.exec(text) ?? [];
  if (sentence === undefined) throw new Error(`${original.name} has no sentence as doc comment`);
  return sentence.replaceAll('|', String.raw`\|`);
}

/** Links the first source that imports a name. */
function linkUse(name: string): string {
  const imported = new RegExp(String.raw`import [^;]*\b${name}\b[^;]*from 'durable-rest';`);
  const source = SOURCES.find(({ text }) => imported.test(text));
  return source ? `[${basename(source.path)}](../${source.path})` : '';
}

/** Lists the methods of a class that modules call, in the order of the source. */
function listMethods(original: ts.Symbol | undefined): string[][] {
  const declaration = original?.declarations?.find(ts.isClassDeclaration);
  if (!declaration) throw new Error(`${INDEX} does not export this class`);
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
    const type = checker
      .typeToString(result, undefined, ts.TypeFormatFlags.InTypeAlias)
      .replaceAll('|', String.raw`\|`);
    const call = `\`${member.name}(${parameters.join(', ')})\``;
    return [[call, `\`${type}\``, readFirstSentence(member)]];
  });
}
