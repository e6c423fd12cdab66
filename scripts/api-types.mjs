import { readFile } from 'node:fs/promises';
import openapiTs, { astToString } from 'openapi-typescript';
import ts from 'typescript';

// Prints the types of the interface for clients, generated from openapi.json.

const { factory, SyntaxKind } = ts;
// A JavaScript number is exact only up to 2^53.
const int64 = factory.createUnionTypeNode([
  factory.createKeywordTypeNode(SyntaxKind.NumberKeyword),
  factory.createKeywordTypeNode(SyntaxKind.BigIntKeyword),
]);

const file = new URL('../openapi.json', import.meta.url);
const nodes = await openapiTs(JSON.parse(await readFile(file, 'utf8')), {
  transform: ({ format }) => (format === 'int64' ? int64 : undefined),
});
process.stdout.write(`// Made from openapi.json: npm run openapi\n\n${astToString(nodes)}`);
