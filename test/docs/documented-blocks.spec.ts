import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import ts from 'typescript';
import { Env } from '../../src/platform/config/env.js';
import { type Block, listBlocks, DOCUMENTS, ROOT } from '../support/documents.js';
import { ProgramFolder } from '../support/program-folder.js';

const BLOCKS = DOCUMENTS.flatMap(listBlocks);

/**
 * The languages of blocks that are not run: output, diagrams, files of other programs. A block with
 * the name of a file, which shows a part of it, is not run either.
 */
const SHOWN = ['', 'json', 'mermaid', 'yaml'];
/** The tests that run the blocks of a document in their own way. */
const OTHER_TESTS: readonly (readonly [document: string, language: string, test: string])[] = [
  ['README.md', 'console', 'test/server/readme.e2e-spec.ts'],
];
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
  'docs/module-recipes.md': `
    import { Controller, Post } from '@nestjs/common';
    import { ApiOperation } from '@nestjs/swagger';
    import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
    import { NewPlantDto } from '../../src/modules/plants/dto/new-plant.dto.js';
    import { Plant } from '../../src/modules/plants/plant.entity.js';
    import { PlantErrors } from '../../src/modules/plants/plants.errors.js';
    import { PlantsRepository } from '../../src/modules/plants/plants.repository.js';
    import { REMOVE } from '../../src/platform/database/batched-repository.js';
    import { date, int64, uuid } from '../../src/platform/database/columns.js';
    import { changeSchema } from '../../src/platform/database/migration-steps.js';
    import {
      ApiImport, type BodyLines, importLines, type ImportResultDto, Lines,
    } from '../../src/platform/rest/import.js';
    import { Planting } from '../example/plantings/planting.entity.js';
    import type { PlantingsRepository } from '../example/plantings/plantings.repository.js';
    import { TestApp } from '../support/test-app.js';
    declare const plantings: PlantingsRepository;
    interface Key { readonly gardenId: string; readonly plantId: string }`,
  'docs/postgresql.md':
    "declare const dataSource: import('../../src/platform/database/batched-repository.js').StoreDataSource;",
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
/** The variables that commands of documents set for others than the program. */
const VARIABLES_OF_OTHERS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'POSTGRES_PASSWORD'];

const commands = BLOCKS.filter(({ language }) => language === 'sh');
const programs = BLOCKS.filter(
  ({ language, file, document }) => language === 'ts' && file === '' && document in GIVEN,
);

it('every block of a document is checked', () => {
  const others = BLOCKS.filter(({ document, language }) =>
    OTHER_TESTS.some((one) => one[0] === document && one[1] === language),
  );
  const checked = new Set([...commands, ...programs, ...others]);
  const isShown = ({ language, file }: Block): boolean => SHOWN.includes(language) || file !== '';
  const missed = BLOCKS.filter((block) => !checked.has(block) && !isShown(block));
  expect(missed.map(nameBlock)).toEqual([]);
  expect(OTHER_TESTS.filter(([, , test]) => !existsSync(ROOT + test))).toEqual([]);
});

describe('a block of commands', () => {
  it('is one that a shell understands', () => {
    for (const { text } of commands) execFileSync('sh', ['-n'], { input: text });
  });

  it('names only files that exist', () => {
    const missing = commands.flatMap((block) =>
      [...block.text.matchAll(/[\w-]+(?:\/[\w-]+)+\.m?js\b/g)]
        .filter(([path]) => !existsSync(ROOT + path))
        .map(([path]) => `${nameBlock(block)} ${path}`),
    );
    expect(missing).toEqual([]);
  });

  it('sets only settings, and variables that it uses itself', () => {
    const known = [...Object.keys(new Env()), ...VARIABLES_OF_OTHERS];
    const unknown = commands.flatMap((block) =>
      [...block.text.matchAll(/(?:^|\s)([A-Z_]+)=/g)]
        .map(([, name = '']) => name)
        .filter((name) => !known.includes(name) && !block.text.includes(`$${name}`))
        .map((name) => `${nameBlock(block)} ${name}`),
    );
    expect(unknown).toEqual([]);
  });
});

describe('a block of commands of README, pasted whole', () => {
  /** A folder with the store of a program that has run there, and the built files. */
  let folder: ProgramFolder;

  beforeAll(async () => {
    folder = await ProgramFolder.create();
    for (const name of ['dist', 'node_modules']) await symlink(ROOT + name, folder.file(name));
    const program = folder.start();
    await program.listening();
    program.kill('SIGTERM');
    await program.exited();
  });

  afterAll(() => folder.remove());

  // Drops npm's own commands, which would install, build or test.
  const blocks = commands
    .filter(({ document }) => document === 'README.md')
    .map((block) => ({ name: nameBlock(block), text: block.text.replaceAll(/^npm .*\n/gm, '') }))
    .filter(({ text }) => text !== '');

  it.each(blocks)('$name runs, or starts the program', async ({ text }) => {
    expect(await paste(text, folder.path)).toBe('done');
  });
});

it('a block of TypeScript is compiled', () => {
  const sources = new Map([
    [`${ROOT}test/packages.d.ts`, PACKAGES],
    ...programs.map(
      (block, index) =>
        [
          `${ROOT}test/block-${index}.ts`,
          `${GIVEN[block.document] ?? ''}\n${block.text}\nexport {};`,
        ] as const,
    ),
  ]);
  const options: ts.CompilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    experimentalDecorators: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    types: ['node'],
    paths: { 'plant-store-client': [`${ROOT}client/plant-store-client.ts`] },
  };
  const host = ts.createCompilerHost(options);
  const fileExists = host.fileExists.bind(host);
  host.fileExists = (path) => sources.has(path) || fileExists(path);
  const getSourceFile = host.getSourceFile.bind(host);
  host.getSourceFile = (path, target, ...rest) => {
    const text = sources.get(path);
    return text === undefined
      ? getSourceFile(path, target, ...rest)
      : ts.createSourceFile(path, text, target);
  };
  const program = ts.createProgram([...sources.keys()], options, host);
  const faults = [...sources.keys()].flatMap((path) =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(path)),
  );
  expect(
    faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  ).toEqual([]);
});

function nameBlock({ document, line }: Block): string {
  return `${document}:${line}`;
}

/** Pastes a block into a shell, which must exit with 0. A program that listens is stopped. */
async function paste(text: string, cwd: string): Promise<string> {
  const { PATH } = process.env;
  const shell = spawn('sh', ['-ec', text], {
    cwd,
    // The program that the shell starts is in its process group.
    detached: true,
    env: { PATH, PORT: '0', SHUTDOWN_GRACE_MS: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let isStopped = false;
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (isStopped || !output.includes('Listening on')) return;
      isStopped = true;
      process.kill(-(shell.pid ?? 0), 'SIGTERM');
    });
  }
  const [code] = (await once(shell, 'close')) as [number | null];
  return code === 0 || output.includes('Stopped') ? 'done' : output;
}
