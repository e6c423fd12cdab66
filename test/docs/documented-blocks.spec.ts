import { expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { listBlocks, DOCUMENTS, ROOT } from '../support/documents.js';

const BLOCKS = DOCUMENTS.flatMap(listBlocks);

/** The declarations that blocks of TypeScript assume, by document. */
const GIVEN: Readonly<Record<string, string>> = {
  'CONTRIBUTING.md': `
    import type { QueryRunner } from 'typeorm';
    import { nullable, text } from '../../src/platform/database/columns.js';
    import { changeSchema } from '../../src/platform/database/migration-steps.js';
    declare const queryRunner: QueryRunner;`,
  'client/README.md': 'declare const token: string;',
  'docs/changes.md': `
    declare const token: string;
    import { Entity } from 'typeorm';
    import { RecordChanges } from '../../src/platform/database/record-changes.decorator.js';`,
};
/** The types of packages that documents use and the project does not. */
const PACKAGES = `declare module 'better-sqlite3' {
  interface Statement {
    run(parameters: Record<string, bigint | string | null>): unknown;
    get(): unknown;
    pluck(): this;
  }
  export default class Database {
    constructor(file: string);
    exec(sql: string): void;
    prepare(sql: string): Statement;
  }
}`;
const commands = BLOCKS.filter(({ language }) => language === 'sh');
const programs = BLOCKS.filter(({ language, file }) => language === 'ts' && file === '');

it('a block of commands is one that a shell understands', () => {
  for (const { text } of commands) execFileSync('sh', ['-n'], { input: text });
});

it('a block with the name of a file shows lines of it, or a file of a module to come', () => {
  const read = (text: string): string => text.replaceAll(/^\s+/gm, '');
  const stale = BLOCKS.filter(
    ({ file, text }) =>
      file !== '' &&
      existsSync(ROOT + file) &&
      !read(readFileSync(ROOT + file, 'utf8')).includes(read(text)),
  );
  expect(stale.map(({ document, line }) => `${document}:${line}`)).toEqual([]);
});

it('a block of TypeScript is compiled', () => {
  const folder = mkdtempSync(`${ROOT}test/blocks-`);
  try {
    const paths = programs.map(({ document, text }, index) => {
      const path = join(folder, `block-${index}.ts`);
      writeFileSync(path, `${GIVEN[document] ?? ''}\n${text}\nexport {};`);
      return path;
    });
    const packages = join(folder, 'packages.d.ts');
    writeFileSync(packages, PACKAGES);
    const program = ts.createProgram([packages, ...paths], {
      noEmit: true,
      strict: true,
      skipLibCheck: true,
      experimentalDecorators: true,
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      types: ['node'],
      paths: { 'plant-store-client': [`${ROOT}client/plant-store-client.ts`] },
    });
    const faults = paths.flatMap((path) =>
      ts.getPreEmitDiagnostics(program, program.getSourceFile(path)),
    );
    expect(
      faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    ).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
