import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import ts from 'typescript';
import { inNewFolder } from '../../support/new-folder.js';
import { PostgresServer } from '../../../packages/platform/src/testing/postgres-server.js';
import type { Engine } from '../../../packages/platform/src/testing/test-store.js';
import type { Proof } from '../proof.js';
import { EXPECTED } from './expected-differences.js';

const VERSION = '0.3.31';

const OPTIONS = {
  /** A folder with TypeORM's repository, of this version. */
  checkout: { type: 'string', default: process.env.TYPEORM_CHECKOUT ?? '' },
  /** By default both. */
  engine: { type: 'string' },
} as const;

/** What the tests import, besides TypeORM and its dependencies. */
const PACKAGES = [
  ...['mocha@11.7.6', 'chai@4.5.0', 'chai-as-promised@7.1.2', 'sinon@16.1.3', 'sinon-chai@3.7.0'],
  ...['pg-query-stream@4.16.0', 'rimraf@5.0.10', 'source-map-support@0.5.21'],
];

/** The folders of tests that run unless others are given. */
const FOLDERS = [
  ...['base-entity', 'cascades', 'columns', 'connection', 'custom-repository', 'database-schema'],
  ...['embedded', 'entity-listeners', 'entity-model', 'entity-schema', 'entity-subscriber'],
  ...['find-options', 'indices', 'migrations', 'persistence', 'query-builder', 'query-runner'],
  ...['relations', 'repository', 'schema-builder', 'table-inheritance', 'transaction'],
  ...['tree-tables', 'view-entity'],
]
  .map((folder) => `functional/${folder}`)
  .concat('github-issues');

/** It removes the package.json of TypeORM, which here is a link to this project's. */
const EXCLUDED = 'github-issues/8975';

/** The extensions of PostgreSQL that tests need. */
const EXTENSIONS = ['uuid-ossp', 'pgcrypto', 'hstore', 'citext', 'ltree', 'cube'];

/** The compiler options of TypeORM that decide what the tests do. */
const COMPILER_OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2021,
  module: ts.ModuleKind.CommonJS,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  esModuleInterop: true,
};

const NODE_MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));
const PROGRAM = fileURLToPath(new URL('./run-tests.mjs', import.meta.url));

/** The result of a test, as the program writes it. */
interface Result {
  readonly file: string;
  readonly title: string;
  /** The error; undefined if it passed. */
  readonly failure?: string;
  /** How many data sources had been made then. */
  readonly made: number;
}

/**
 * Runs tests of TypeORM itself twice: with the stock driver, and with the data source of the program.
 * The arguments are folders below TypeORM's folder `test`.
 */
export default (async (args) => {
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  if (values.checkout === '') {
    console.log(
      `SKIPPED typeorm: name a checkout by --checkout <folder> or TYPEORM_CHECKOUT, made by git clone --branch ${VERSION} https://github.com/typeorm/typeorm`,
    );
    return [];
  }
  const folders = positionals.length > 0 ? positionals : FOLDERS;
  return await inNewFolder(async (folder) => {
    await prepare(folder, values.checkout);
    const faults: string[] = [];
    for (const engine of ['sqlite', 'postgres'] as const) {
      if (values.engine !== undefined && values.engine !== engine) continue;
      faults.push(...(await compareOn(engine, folder, folders)));
    }
    return faults;
  });
}) satisfies Proof;

/** Compiles the tests in folders as TypeORM has them, in which its compiled sources are those here. */
async function prepare(folder: string, checkout: string): Promise<void> {
  const text = await readFile(join(checkout, 'package.json'), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  if (version !== VERSION) throw new Error(`${checkout} has TypeORM ${version}, not ${VERSION}`);
  await writeFile(join(folder, 'package.json'), '{}');
  const install = ['install', '--no-save', '--no-audit', '--no-fund', ...PACKAGES];
  execFileSync('npm', install, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  for (const name of ['test', 'extra']) {
    await cp(join(checkout, name), join(folder, name), { recursive: true });
  }
  await rm(join(folder, 'test', EXCLUDED), { recursive: true });
  const compiled = join(folder, 'build/compiled');
  await mkdir(compiled, { recursive: true });
  await symlink(join(NODE_MODULES, 'typeorm'), join(compiled, 'src'));
  for (const path of listFiles(join(folder, 'test'))) {
    const source = join(folder, 'test', path);
    const target = join(compiled, 'test', path);
    await mkdir(dirname(target), { recursive: true });
    if (path.endsWith('.ts')) {
      const result = ts.transpileModule(readFileSync(source, 'utf8'), {
        compilerOptions: COMPILER_OPTIONS,
      });
      await writeFile(target.replace(/ts$/, 'js'), result.outputText);
    } else {
      await cp(source, target);
    }
  }
}

function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

async function compareOn(
  engine: Engine,
  folder: string,
  folders: readonly string[],
): Promise<string[]> {
  const server = engine === 'postgres' ? await startServer() : undefined;
  const connections =
    server === undefined
      ? ['join', 'query'].map((relationLoadStrategy) => ({
          ...{ name: relationLoadStrategy, type: engine, relationLoadStrategy },
          database: join(folder, `${relationLoadStrategy}.db`),
        }))
      : [
          {
            ...{ name: engine, type: engine, host: '127.0.0.1', port: server.port },
            ...{ username: 'postgres', password: 'none', database: 'postgres' },
          },
        ];
  await writeFile(join(folder, 'build/compiled/ormconfig.json'), JSON.stringify(connections));
  try {
    // A test that fails leaves its data source open, so each folder has processes of its own.
    const faults: string[] = [];
    for (const tests of folders) faults.push(...(await compare(engine, folder, [tests])));
    return faults;
  } finally {
    await server?.remove();
  }
}

async function startServer(): Promise<PostgresServer> {
  const server = await PostgresServer.start();
  const client = new pg.Client(server.url());
  await client.connect();
  for (const extension of EXTENSIONS) await client.query(`CREATE EXTENSION "${extension}"`);
  await client.end();
  return server;
}

/** Runs the tests of folders with both drivers, and finds the differences that are not expected. */
async function compare(
  engine: Engine,
  folder: string,
  folders: readonly string[],
): Promise<string[]> {
  const stock = await runTests('stock', engine, folder, folders);
  const ours = await runTests('ours', engine, folder, folders);
  const passes = (result: Result | undefined): boolean =>
    result !== undefined && result.failure === undefined;
  for (const tests of folders) {
    const all = [...stock.keys()].filter((key) => key.startsWith(`${tests}/`));
    const passed = all.filter((key) => passes(stock.get(key)));
    const alike = passed.filter((key) => passes(ours.get(key)));
    console.log(
      `${engine} ${tests}: ${all.length} tests, ${passed.length} pass with the stock driver, ${alike.length} of these here`,
    );
  }
  const faults: string[] = [];
  for (const file of new Set([...stock.values()].map((result) => result.file))) {
    const differing = [...stock]
      .filter(([key, result]) => result.file === file && passes(result) && !passes(ours.get(key)))
      .map(([key]) => `${key}\n    ${ours.get(key)?.failure ?? 'not run'}`);
    const { tests = 0, reason } = EXPECTED[engine].find((one) => one.file === file) ?? {};
    if (differing.length !== tests) {
      faults.push(
        `on ${engine}, ${differing.length} tests of ${file} differ, not ${tests}\n  ${differing.join('\n  ')}`,
      );
    } else if (reason !== undefined) {
      console.log(`${tests} of ${file} differ, as expected: ${reason}`);
    }
  }
  return faults;
}

/** Runs the tests of folders. Only those count whose files have made a data source of the engine. */
async function runTests(
  driver: 'stock' | 'ours',
  engine: Engine,
  folder: string,
  folders: readonly string[],
): Promise<Map<string, Result>> {
  const cwd = join(folder, 'build/compiled');
  const results = join(cwd, 'results.ndjson');
  await rm(results, { force: true });
  const files = folders.flatMap((tests) =>
    listFiles(join(cwd, 'test', tests))
      .filter((file) => file.endsWith('.test.js'))
      .map((file) => join(cwd, 'test', tests, file)),
  );
  const env = {
    ...process.env,
    APP_ROOT_PATH: folder,
    NODE_PATH: `${join(folder, 'node_modules')}:${NODE_MODULES}`,
  };
  // The tests print much.
  execFileSync(process.execPath, [PROGRAM, driver, engine, ...files.sort()], {
    cwd,
    env,
    stdio: 'ignore',
  });
  const lines = existsSync(results) ? readFileSync(results, 'utf8').trim().split('\n') : [];
  const used = new Map<string, Result>();
  let made = 0;
  for (const ofFile of groupByFile(lines.map((line) => JSON.parse(line) as Result))) {
    const before = made;
    made = Math.max(...ofFile.map((result) => result.made));
    if (made === before) continue;
    for (const result of ofFile) used.set(makeKey(result, used), result);
  }
  return used;
}

function groupByFile(results: readonly Result[]): Result[][] {
  const files = [...new Set(results.map(({ file }) => file))];
  return files.map((file) => results.filter((result) => result.file === file));
}

/** Names a test. Several tests of a file may have one title. */
function makeKey({ file, title }: Result, used: ReadonlyMap<string, Result>): string {
  let key = `${file}: ${title}`;
  while (used.has(key)) key += ' (again)';
  return key;
}
