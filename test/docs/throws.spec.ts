import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import ts from 'typescript';
import { ErrorCatalogue } from 'durable-rest';

/** The files that are checked. A team writes the comments of its modules as it likes. */
const sources = [
  'src/modules/plants',
  'examples/nursery/src',
  'packages/platform/src',
  'packages/store/src',
].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!spec)\.ts$/.test(name))
    .map((name) => parse(`${folder}/${name}`)),
);

function parse(path: string): ts.SourceFile {
  return ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
}

/** Lists the nodes of a kind in a tree. */
function find<Node extends ts.Node>(
  root: ts.Node,
  isWanted: (node: ts.Node) => node is Node,
): Node[] {
  const found = isWanted(root) ? [root] : [];
  ts.forEachChild(root, (child) => void found.push(...find(child, isWanted)));
  return found;
}

const general = Object.values(ErrorCatalogue).map(({ error }) => String(error));

/** The codes of the errors of modules, by names such as `PlantErrors.ID_IN_USE`. */
const own = new Map(
  sources.flatMap((source) => find(source, ts.isVariableDeclaration)).flatMap(listDefined),
);

/** Lists the errors that a variable has from `defineErrors()`, with their codes. */
function listDefined({
  name: owner,
  initializer: call,
}: ts.VariableDeclaration): [string, string][] {
  if (!call || !ts.isCallExpression(call) || call.expression.getText() !== 'defineErrors')
    return [];
  const [entries] = call.arguments;
  return find(entries ?? call, ts.isPropertyAssignment)
    .filter(({ name }) => name.getText() === 'error')
    .map(({ initializer: code, parent: entry }) => {
      const { name } = entry.parent as ts.PropertyAssignment;
      return [`${owner.getText()}.${name.getText()}`, code.getText()];
    });
}

/** Lists the codes of the `@throws ApiError` of a declaration; `none` for a tag without a code. */
function listThrown(node: ts.Node): string[] {
  return ts
    .getJSDocTags(node)
    .filter(({ tagName }) => tagName.text === 'throws')
    .map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? '')
    .filter((comment) => comment.startsWith('ApiError'))
    .flatMap((comment) => comment.match(/\b\d{5,6}\b/g) ?? ['none']);
}

function hasComment(node: ts.Node): node is ts.Statement | ts.ClassElement {
  return ts.isStatement(node) || ts.isClassElement(node);
}

/** The files with `@throws ApiError`, and the codes in these tags. */
const throwing = sources
  .map((source) => [source.fileName, find(source, hasComment).flatMap(listThrown)] as const)
  .filter(([, codes]) => codes.length > 0);

/** Lists the errors that the `@ApiErrors()` of a handler document. */
function listDocumented(handler: ts.MethodDeclaration): string[] {
  return (ts.getDecorators(handler) ?? [])
    .map(({ expression }) => expression)
    .filter(ts.isCallExpression)
    .filter(({ expression }) => expression.getText() === 'ApiErrors')
    .flatMap(({ arguments: errors }) => errors.map((error) => error.getText()));
}

/** Lists the methods of services that a handler calls, by their names. */
function listCalled(handler: ts.MethodDeclaration): string[] {
  return find(handler, ts.isCallExpression).flatMap(({ expression: method }) => {
    const service = ts.isPropertyAccessExpression(method) ? method.expression : undefined;
    const isOfService =
      service !== undefined &&
      ts.isPropertyAccessExpression(service) &&
      service.expression.kind === ts.SyntaxKind.ThisKeyword;
    return isOfService ? [(method as ts.PropertyAccessExpression).name.text] : [];
  });
}

/** The handlers that call services, with the errors that they document and that their calls throw. */
const handlers = sources
  .filter(({ fileName }) => fileName.endsWith('.controller.ts'))
  .flatMap((source) => find(source, ts.isMethodDeclaration))
  .filter((handler) => listCalled(handler).length > 0)
  .map((handler) => {
    const path = handler.getSourceFile().fileName;
    const called = listCalled(handler);
    const services = sources.filter(
      ({ fileName }) => dirname(fileName) === dirname(path) && fileName.endsWith('.service.ts'),
    );
    const thrown = services
      .flatMap((service) => find(service, ts.isMethodDeclaration))
      .filter(({ name }) => called.includes(name.getText()))
      .flatMap(listThrown);
    const documented = listDocumented(handler).map((name) => own.get(name) ?? name);
    return [`${path} ${handler.name.getText()}`, documented, thrown] as const;
  });

describe('@throws ApiError', () => {
  it.each(throwing)('names codes that exist: %s', (_, codes) => {
    expect([...general, ...own.values()]).toEqual(expect.arrayContaining(codes));
  });

  it.each(handlers)(
    'of what a handler calls is documented by its @ApiErrors(): %s',
    (_, documented, thrown) => {
      const missing = thrown.filter((code) => ![...general, ...documented].includes(code));
      expect(missing).toEqual([]);
    },
  );
});
