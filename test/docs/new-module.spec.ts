import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import ts from 'typescript';

const ROOT = new URL('../../', import.meta.url).pathname;
/** Prints the files of the modules that the arguments ask for, or what is wrong with the arguments. */
const WRITE_FILES = `
  import { readModule } from '../scripts/new-module/new-module.mjs';
  import { writeFiles } from '../scripts/new-module/template.mjs';
  const written = JSON.parse(process.argv[1]).map((args) => {
    try {
      return Object.fromEntries(writeFiles(readModule(args)));
    } catch (error) {
      return { message: error.message };
    }
  });
  console.log(JSON.stringify(written));`;

function writeFiles(...modules: (readonly string[])[]): Record<string, string>[] {
  const command = ['--input-type=module', '-e', WRITE_FILES, JSON.stringify(modules)];
  const printed = execFileSync(process.execPath, command, { cwd: ROOT, encoding: 'utf8' });
  return JSON.parse(printed) as Record<string, string>[];
}

/** Arguments that make no module, and a part of what is said of them. */
const REFUSED: readonly (readonly [args: readonly string[], sentence: string])[] = [
  [['beds'], 'Write a column or more beside the key, such as name:text'],
  [['beds', 'name'], 'name: write a name and a type, such as name:text(200)'],
  [['beds', 'name:string'], 'name:string: string is no type: write text, int32, int64, decimal'],
  [['beds', 'id:int64'], 'id:int64: choose another name than id, which is taken'],
  [['beds', 'area:decimal(20,2)'], 'write decimal(12,2): at most 18 digits in all'],
  [['beds', 'soil:enum(clay)'], 'write enum(clay,loam): two words or more'],
  [['beds', 'soil:enum(clay,loam,clay)'], 'write each word of an enum once'],
  [['beds', 'name:text(0)'], 'write text(200), or text(1,200) for 1 to 200 characters'],
  [['beds', 'name:text:unique?'], 'unique? is unknown: write unique, sorted or references'],
  [['beds', 'open:boolean:unique'], 'a boolean cannot be unique'],
  [['beds', 'n:int64:references(trees)'], 'there is no such table; write one of plants'],
  [['beds', 'n:int32:references(plants)'], 'its key is int64, so write n:int64'],
  [['beds', 'n:int64:references(beds)'], 'write n:int64?, since the first of them refers to none'],
  [['beds', 'name:text', 'name:text'], 'Write the column name once'],
  [['beds', 'name:text', '--key', 'nme'], 'write uuid, counter, or the names of columns'],
  [['beds', 'a:text?', 'b:text', '--key', 'a'], 'a must be a text, int32, int64, uuid or date'],
  [['plants', 'name:text'], 'There is plants already: choose another name'],
  [['moss', 'name:text', '--singular', 'moss'], 'Say what one of the moss is called: --singular'],
  [['Beds', 'name:text'], 'Beds is no name: write small letters, with hyphens between words'],
  [['beds', 'name:text', '--errors', '7'], '--errors may be '],
  [['beds', 'name:text', '--colour'], "Unknown option '--colour'"],
];

/** The methods of the classes of a file, by their names; what they say in words is left out. */
function listMethods(source: string): Map<string, string> {
  const text = source.replaceAll(/'[^']*'/g, "''");
  const file = ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest);
  const printer = ts.createPrinter({ removeComments: true });
  const members = file.statements.filter(ts.isClassDeclaration).flatMap((one) => [...one.members]);
  return new Map(
    members.filter(ts.isMethodDeclaration).map((method) => [
      (method.name as ts.Identifier).text,
      printer
        .printNode(ts.EmitHint.Unspecified, method, file)
        .replaceAll(/,?\s+/g, ' ')
        .replaceAll(/, (?=[)}])/g, ''),
    ]),
  );
}

describe('npm run new:module', () => {
  const [files = {}, ...refusals] = writeFiles(
    ['pots', 'name:text', 'tag:text?'],
    ...REFUSED.map(([args]) => args),
  );

  it.each(['controller', 'service'])('writes the %s as the plants have it', (kind) => {
    const text = (files[`pots.${kind}.ts`] ?? '')
      .replaceAll('pot', 'plant')
      .replaceAll('Pot', 'Plant')
      .replaceAll('POT', 'PLANT');
    const written = listMethods(text);
    const path = `${ROOT}src/modules/plants/plants.${kind}.ts`;
    const plants = listMethods(readFileSync(path, 'utf8'));
    // The plants have filters and orders of their own.
    const both = [...written.keys()].filter((name) => plants.has(name) && name !== 'list');
    expect(both).toEqual(['create', 'read', 'replace', 'update', 'remove']);
    for (const name of both) expect(written.get(name)).toBe(plants.get(name));
  });

  it.each(REFUSED.map((row, index) => [...row, index] as const))(
    'refuses %j: %s',
    (_, sentence, index) => {
      expect(refusals[index]?.message).toContain(sentence);
    },
  );
});
