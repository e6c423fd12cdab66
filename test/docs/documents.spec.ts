import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const ROOT = new URL('../../', import.meta.url).pathname;

/** The path of each document below the root. */
const DOCUMENTS = [
  '',
  'docs',
  'client',
  'create',
  'packages/platform',
  'packages/store',
  'examples/nursery',
  'examples/plain-nest',
].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: folder === 'docs', encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file)),
);

/** A fenced block of a document, also one in a list. */
interface Block {
  readonly document: string;
  /** The line where its text begins, from 1. */
  readonly line: number;
  readonly language: string;
  /** The text after the language: in a walk-through, the file of the block. */
  readonly file: string;
  readonly text: string;
}

/** Modules and files that a team will make, with other lines than those of a document. */
const TO_COME = /^(?:src\/modules\/(?!plants\/)|dist\/(?:data-source|commands\/typeorm)\.js)/;

const BLOCK = /^( *)```(\w*) ?(.*)\n([^]*?)^\1```$/gm;

function listBlocks(document: string): Block[] {
  const markdown = readFileSync(join(ROOT, document), 'utf8');
  return [...markdown.matchAll(BLOCK)].map(
    ({ index, 1: indent = '', 2: language = '', 3: file = '', 4: indented = '' }) => {
      const line = markdown.slice(0, index).split('\n').length + 1;
      const text = indented.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
      return { document, line, language, file, text };
    },
  );
}

const openApi = JSON.parse(readFileSync(`${ROOT}openapi.json`, 'utf8')) as {
  paths: Record<string, Record<string, { responses: object }>>;
};
const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
  scripts: Record<string, string>;
};

describe.each(DOCUMENTS)('%s', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8');

  it('links only to files and headings that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)/g)].map(([, link = '']) => link);
    const dead = links.filter((link) => {
      const [file = '', heading] = link.split('#');
      const target = file === '' ? join(ROOT, path) : join(ROOT, dirname(path), file);
      return !existsSync(target) || (heading !== undefined && !listHeadings(target).has(heading));
    });
    expect(dead).toEqual([]);
  });

  it('links a function to the file that declares it', () => {
    const links = [...text.matchAll(/\[`(\w+)\(\)`\]\(([^)#]+\.ts)\)/g)];
    const missing = links.filter(([, name = '', file = '']) => {
      const declaration = new RegExp(
        String.raw`^ *(?:(?:async|export|override|private|static) )*(?:function )?${name}[(<]`,
        'm',
      );
      return !declaration.test(readFileSync(join(ROOT, dirname(path), file), 'utf8'));
    });
    expect(missing.map(([link]) => link)).toEqual([]);
  });

  it('names only commands that exist, with options that they have', () => {
    const named = [...text.matchAll(/\bnpm run (?:-s )?([\w:-]+)(?: -- ([^`\n]*))?/g)];
    expect(named.map(([, name = '']) => name).filter((name) => !(name in scripts))).toEqual([]);
    const unknown = named.filter(([, name = '', words = '']) => {
      const program = name === 'prove' ? readProof(words) : readProgram(name);
      const options = [...words.matchAll(/--([a-z-]+)/g)].map(([, option = '']) => option);
      return program !== '' && !options.every((option) => program.includes(option));
    });
    expect(unknown.map(([command]) => command)).toEqual([]);
    const proofs = named.filter(([, name]) => name === 'prove').map(([, , words = '']) => words);
    const missing = proofs.map((words) => /^[a-z]+/.exec(words)?.[0]).filter(Boolean);
    expect(missing.filter((proof) => !existsSync(`${ROOT}test/proofs/${proof}`))).toEqual([]);
  });

  it('names only files and folders that exist', () => {
    if (path === 'CHANGELOG.md') return;
    const named = [...text.matchAll(PATH)].map(([, file = '']) => file.replace(/\.$/, ''));
    expect(named.filter((file) => !TO_COME.test(file) && !isFile(file))).toEqual([]);
  });
});

/** The text of our program that a script runs, which has the names of its options. */
function readProgram(script: string): string {
  const sources = /(?:dist|bench|scripts|test)\/[\w./-]+\.\w+/g;
  const files = (scripts[script] ?? '').match(sources) ?? [];
  return files.map((file) => readFileSync(ROOT + toSource(file), 'utf8')).join('');
}

/** The text of the program of a proof. */
function readProof(words: string): string {
  const [proof = ''] = words.split(' ');
  const folder = `${ROOT}test/proofs/${proof}`;
  const files = proof !== '' && existsSync(folder) ? readdirSync(folder) : [];
  const ofProof = files.filter((file) => file.endsWith('.ts'));
  return (
    readProgram('prove') + ofProof.map((file) => readFileSync(`${folder}/${file}`, 'utf8')).join('')
  );
}

/** The compiler makes the files of `dist` of those in `src`. */
function toSource(file: string): string {
  return file.replace(/^dist\/(.*)\.js$/, 'src/$1.ts');
}

function isFile(file: string): boolean {
  return existsSync(ROOT + toSource(file));
}

const FOLDERS = 'bench|client|create|deploy|dist|docs|examples|packages|scripts|src|test';
/** A path that begins with a folder of the repository. */
const PATH = new RegExp(String.raw`(?<![\w./@-])((?:${FOLDERS})/[\w./-]+)`, 'g');

it.each(['docs/architecture.md', 'docs/decisions.md', 'docs/dependencies.md'])(
  '%s names only files of the packages that exist',
  (document) => {
    const text = readFileSync(ROOT + document, 'utf8');
    const named = [...text.matchAll(/[`"]((?!durable-)[a-z][\w-]*\/[\w./-]*)[`<]/g)];
    const missing = named.filter(([, file = '']) => {
      const paths = [file, `packages/platform/src/${file}`, `packages/store/src/${file}`];
      const inStore = file.replace(/^store\//, 'packages/store/src/');
      return ![...paths, inStore].some((path) => isFile(path) || isFile(`${path}.ts`));
    });
    expect(named).not.toHaveLength(0);
    expect(missing.map(([, file]) => file)).toEqual([]);
  },
);

/** Lists the anchors of a document's headings, as on GitHub. */
function listHeadings(file: string): Set<string> {
  const headings = readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm);
  return new Set(
    [...headings].map(([, text = '']) =>
      text
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

const BLOCKS = DOCUMENTS.flatMap(listBlocks);

/** The declarations that blocks of TypeScript assume, by document. */
const GIVEN: Readonly<Record<string, string>> = {
  'client/README.md': 'declare const token: string;',
  'docs/changes.md': `
    declare const token: string;
    import { Entity } from 'typeorm';
    import { RecordChanges } from 'durable-rest';`,
};

/** The pages of names, whose examples leave out imports. */
const NAMES = ['docs/names.md', 'docs/store-names.md', 'docs/service-names.md'];

/** What the examples of the pages of names assume. */
const EXAMPLES_ASSUME = `
  import { Body, Catch, Controller, Delete, Get, Injectable, Module } from '@nestjs/common';
  import { type CanActivate, type ExceptionFilter, type ExecutionContext } from '@nestjs/common';
  import { Param, Post, Put, Query } from '@nestjs/common';
  import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
  import { Min } from 'class-validator';
  import { readFile, rename } from 'node:fs/promises';
  import { afterEach } from '@jest/globals';
  import { APP_FILTER, APP_GUARD } from '@nestjs/core';
  import type { NestExpressApplication } from '@nestjs/platform-express';
  import { spawn } from 'node:child_process';
  import { start } from 'durable-rest/start';
  import { Column, Entity, type MigrationInterface, PrimaryColumn, type QueryRunner } from 'typeorm';
  import { AppModule } from '../../src/app.module.js';
  import { service } from '../../src/service.js';
  import { PlantsModule } from '../../src/modules/plants/plants.module.js';
  import { TestApp } from '../support/test-app.js';
  import { ListPlantsDto } from '../../src/modules/plants/dto/list-plants.dto.js';
  import { NewPlantDto, PlantDto, StoredPlantDto } from '../../src/modules/plants/dto/plant.dto.js';
  import { Plant } from '../../src/modules/plants/plant.entity.js';
  import { PlantErrors } from '../../src/modules/plants/plants.errors.js';
  import { PlantsRepository } from '../../src/modules/plants/plants.repository.js';
  import { PlantsService } from '../../src/modules/plants/plants.service.js';
  import { PhotosService } from '../../examples/nursery/src/photos/photos.service.js';
  import { Planting } from '../../examples/nursery/src/plantings/planting.entity.js';
  import { PlantingErrors } from '../../examples/nursery/src/plantings/plantings.errors.js';
  import { NewSaleDto } from '../../examples/nursery/src/sales/dto/new-sale.dto.js';
  import { SaleDto } from '../../examples/nursery/src/sales/dto/sale.dto.js';
  import { SaleErrors } from '../../examples/nursery/src/sales/sales.errors.js';
  import { SalesRepository } from '../../examples/nursery/src/sales/sales.repository.js';
  import { SalesService } from '../../examples/nursery/src/sales/sales.service.js';
  import { SalesSettings } from '../../examples/nursery/src/sales/sales.settings.js';
  declare const app: TestApp;
  declare const after: string | undefined;
  declare const feed: ChangeFeed;
  declare const options: StoreOptions;
  declare const plants: PlantsRepository;
  declare const rows: RowInput<Plant>[];
  declare const sale: NewSaleDto;
  declare const sales: SalesRepository;
  declare const schema: Schema;
  declare const store: StoreDataSource;
  class Members {
    constructor(
      readonly photos: PhotosService,
      readonly plants: PlantsService,
      readonly sales: SalesService,
    ) {}
  }`;

/** The sections of the pages of names: each name, and the package that has it. */
const SECTIONS = NAMES.flatMap((page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^### `(\w+)`$[^]*?^From `([\w/-]+)`/gm)];
});
const NAME_IMPORTS = SECTIONS.map(([, name, door]) => `import { ${name} } from '${door}';`).join(
  '\n',
);

/** Makes a file of a block. In an example, members of a class stand without their class. */
function toFile({ document, text }: Block): string {
  if (!NAMES.includes(document)) return `${GIVEN[document] ?? ''}\n${text}\nexport {};`;
  const areMembers = text.startsWith('@') && !/^class /m.test(text);
  // Names that an example declares hide the assumed ones.
  const scope = areMembers ? `class Example extends Members {\n${text}}` : `{\n${text}}`;
  return `${NAME_IMPORTS}\n${EXAMPLES_ASSUME}\n${scope}`;
}

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

/** The messages of the errors, by their codes, from the table that the program writes. */
const MESSAGES = new Map(
  [
    ...readFileSync(join(ROOT, 'docs/errors.md'), 'utf8').matchAll(
      /^\| (\d{5,6}) +\| \d{3} +\| (.*?) +\|/gm,
    ),
  ].map(([, code = '', message = '']) => [code, message]),
);
/** The codes of proxies. */
const PROXY_CODES = ['50200', '50400'];
/** The code of an error that a module has not numbered. */
const UNNUMBERED = /^\d{3}99$/;

it('an example of an error has the message of its code', () => {
  const examples = DOCUMENTS.flatMap((document) => {
    const text = readFileSync(join(ROOT, document), 'utf8');
    return [...text.matchAll(/"error": ?(\d{5}),\s*"message": ?"(.*?)"/g)];
  });
  const wrong = examples.filter(([, code = '', message = '']) => {
    const isOfProxy =
      PROXY_CODES.includes(code) || message.startsWith('The service cannot be reached');
    return !isOfProxy && !message.startsWith(MESSAGES.get(code) ?? 'none');
  });
  expect(examples).not.toHaveLength(0);
  expect(wrong.map(([example]) => example)).toEqual([]);
});

/** Lists what documents name by the first group of a pattern, but is not known. */
function listUnknown(pattern: RegExp, isKnown: (name: string) => boolean): string[] {
  return DOCUMENTS.filter((path) => /^docs|README/.test(path)).flatMap((document) => {
    const text = readFileSync(join(ROOT, document), 'utf8').replaceAll(BLOCK, '');
    const names = [...text.matchAll(pattern)].map(([, name = '']) => name);
    return names.filter((name) => !isKnown(name)).map((name) => `${document}: ${name}`);
  });
}

it('a document names only codes of errors that exist', () => {
  const code = /(?<![\d.,:/-])(4\d{4}|50\d{3})(?![\d.,]?\d)/g;
  const isKnown = (name: string): boolean =>
    MESSAGES.has(name) || PROXY_CODES.includes(name) || UNNUMBERED.test(name);
  expect(listUnknown(code, isKnown)).toEqual([]);
});

/** The statuses of the answers of each operation, by its method and path. */
const STATUSES = new Map(
  Object.entries(openApi.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { responses }]) => [
      `${method.toUpperCase()} ${path}`,
      Object.keys(responses),
    ]),
  ),
);

it('a row of a table about a request has only the statuses of its answers', () => {
  const rows = DOCUMENTS.flatMap((document) => {
    const text = readFileSync(join(ROOT, document), 'utf8');
    return [...text.matchAll(/^\| `([A-Z]+ \/[^`]*)` +\|(.*)$/gm)];
  });
  const unknown = rows.filter(([, request = '', answer = '']) => {
    const statuses = answer.match(/\b[2-5]\d\d\b/g) ?? [];
    const known = STATUSES.get(request) ?? [];
    return known.length === 0 || !statuses.every((status) => known.includes(status));
  });
  expect(rows).not.toHaveLength(0);
  expect(unknown.map(([row]) => row)).toEqual([]);
});

it('a status beside a code is that of the code', () => {
  const pair = /\b([1-5]\d\d)(?:,|:| with| and) (\d{5})\b/g;
  const isSame = (found: string): boolean => found.slice(0, 3) === found.slice(-5, -2);
  expect(listUnknown(new RegExp(`(${pair.source})`, 'g'), isSame)).toEqual([]);
});

it('a document names only statuses of errors that exist', () => {
  // A number that begins a cell of a table is a figure, or belongs to the row of a request.
  const status = /(?<![\d.,:/-]|\| )([45]\d\d)(?![\d.,]?\d| changes)/g;
  const known = [...MESSAGES.keys(), ...PROXY_CODES].map((code) => code.slice(0, 3));
  expect(listUnknown(status, (name) => known.includes(name))).toEqual([]);
});

/** Variables of the environment that are not settings of the service, and constants. */
const OTHER_VARIABLES = [
  ...['NO_COLOR', 'NODE_OPTIONS', 'POSTGRES_PASSWORD', 'RLIMIT_NOFILE', 'TYPEORM_CHECKOUT'],
  ...['UV_THREADPOOL_SIZE'],
  ...SECTIONS.map(([, name]) => name),
];

it('a document names only settings that exist', () => {
  const example = readFileSync(join(ROOT, '.env.example'), 'utf8');
  const settings = [...example.matchAll(/^#? ?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);
  const setting = /`([A-Z][A-Z0-9]*_[A-Z0-9_]+)(?:=[^`]*)?`/g;
  const isKnown = (name: string): boolean =>
    settings.includes(name) || OTHER_VARIABLES.includes(name);
  expect(listUnknown(setting, isKnown)).toEqual([]);
});

it('a package.json of a document names the versions of the repository', () => {
  const { dependencies, devDependencies, overrides } = JSON.parse(
    readFileSync(`${ROOT}package.json`, 'utf8'),
  ) as Record<string, Record<string, unknown>>;
  const known: Record<string, unknown> = { ...overrides, ...devDependencies, ...dependencies };
  const blocks = BLOCKS.filter(
    ({ language, text }) => language === 'json' && text.includes('overrides'),
  );
  const named = blocks.flatMap(({ text }) => [...text.matchAll(/"(.+)": "(\d+\.\d+\.\d+)"/g)]);
  const stale = named.filter(
    ([, name = '', version]) => name !== 'version' && known[name] !== version,
  );
  expect(named).not.toEqual([]);
  expect(stale.map(([line]) => line)).toEqual([]);
});

it('a block of commands is one that a shell understands', () => {
  for (const { text } of commands) execFileSync('sh', ['-n'], { input: text });
});

it('a block with the name of a file shows lines of it, or a file of a module to come', () => {
  const read = (text: string): string => text.replaceAll(/^\s+/gm, '');
  const stale = BLOCKS.filter(
    ({ file, text }) =>
      file !== '' &&
      !TO_COME.test(file) &&
      !read(readFileSync(ROOT + file, 'utf8')).includes(read(text)),
  );
  expect(stale.map(({ document, line }) => `${document}:${line}`)).toEqual([]);
});

it('a block of TypeScript is compiled', () => {
  const options: ts.CompilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    experimentalDecorators: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    types: ['node'],
    customConditions: ['source'],
    paths: { 'plant-store-client': [`${ROOT}client/plant-store-client.ts`] },
  };
  // The blocks are not written to disk, where other tests read the sources at the same time.
  const texts = new Map(
    programs.map((block, index) => [`${ROOT}test/docs/block-${index}.ts`, toFile(block)]),
  );
  const paths = [...texts.keys()];
  const packages = `${ROOT}test/docs/packages.d.ts`;
  texts.set(packages, PACKAGES);
  const host = ts.createCompilerHost(options);
  const readFromDisk = host.readFile.bind(host);
  host.readFile = (path) => texts.get(path) ?? readFromDisk(path);
  const program = ts.createProgram([packages, ...paths], options, host);
  const faults = paths.flatMap((path) =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(path)),
  );
  const messages = faults.map(({ file, messageText }) => {
    const block = programs[paths.indexOf(file?.fileName ?? '')];
    const message = ts.flattenDiagnosticMessageText(messageText, '\n');
    return `${block?.document}:${block?.line}: ${message}`;
  });
  expect(messages).toEqual([]);
});
