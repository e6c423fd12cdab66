import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import ts from 'typescript';
import { type Block, blocksOf, DOCUMENTS, ROOT } from './support/documents.js';
import { ProgramFolder } from './support/program-folder.js';

const BLOCKS = DOCUMENTS.flatMap(blocksOf);

/** What is shown and not run: what a command prints, drawings, files of other programs. */
const SHOWN = ['', 'mermaid', 'yaml'];
/** Tests that run the blocks of a document in their own way. */
const OTHER_TESTS: readonly (readonly [document: string, language: string, test: string])[] = [
  ['README.md', 'console', 'test/readme.e2e-spec.ts'],
  ['docs/adding-a-module.md', 'ts', 'test/proofs/walkthrough/walkthrough.ts'],
  ['docs/adding-a-module.md', 'diff', 'test/proofs/walkthrough/walkthrough.ts'],
];
/** What blocks of TypeScript take as given, by document. */
const GIVEN: Readonly<Record<string, string>> = {
  'client/README.md': 'declare const token: string;',
  'docs/postgresql.md':
    "declare const dataSource: import('../src/platform/database/data-source/store-data-source.js').StoreDataSource;",
};

/** Blocks whose fence names the test that runs them, as in "```sh test/readme.e2e-spec.ts". */
const marked = BLOCKS.filter(({ language, file }) => language === 'sh' && file !== '');
const commands = BLOCKS.filter(({ language, file }) => language === 'sh' && file === '');
const programs = BLOCKS.filter(
  ({ language, file, document }) => language === 'ts' && file === '' && document in GIVEN,
);

it('every block of a document is run by a test', () => {
  const others = BLOCKS.filter(({ document, language }) =>
    OTHER_TESTS.some((one) => one[0] === document && one[1] === language),
  );
  const run = new Set([...commands, ...marked, ...programs, ...others]);
  const missed = BLOCKS.filter((block) => !run.has(block) && !SHOWN.includes(block.language));
  expect(missed.map(nameOf)).toEqual([]);
  const tests = [...OTHER_TESTS.map(([, , test]) => test), ...marked.map(({ file }) => file)];
  expect(tests.filter((test) => !existsSync(ROOT + test))).toEqual([]);
});

describe('a block of commands, pasted whole', () => {
  let folder: ProgramFolder;

  beforeAll(async () => {
    folder = await clone();
    // The documents speak of a store that is in use.
    const program = folder.start();
    await program.listening();
    program.kill('SIGTERM');
    await program.exited();
  });

  afterAll(async () => {
    await folder.remove();
  });

  it.each(commands.map((block) => ({ name: nameOf(block), block })))(
    '$name runs, or starts the program',
    async ({ block }) => {
      const { status, output } = await paste(block, folder);
      expect({ status, output }).toEqual({ status: 'done', output });
    },
  );

  it.each(commands.map((block) => ({ name: nameOf(block), block })))(
    '$name sets no variable for the shell alone',
    ({ block }) => {
      const used = (name: string): boolean => block.text.includes(`$${name}`);
      const names = [...block.text.matchAll(/^([A-Z_]+)=\S+$/gm)].map(([, name = '']) => name);
      expect(names.filter((name) => !used(name))).toEqual([]);
    },
  );
});

it('a block of TypeScript is compiled', () => {
  const sources = new Map(
    programs.map((block, index) => [
      `${ROOT}test/block-${index}.ts`,
      `${GIVEN[block.document] ?? ''}\n${block.text}\nexport {};`,
    ]),
  );
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
  const faults = ts.getPreEmitDiagnostics(program);
  expect(
    faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  ).toEqual([]);
});

function nameOf({ document, line }: Block): string {
  return `${document}:${line}`;
}

/** A folder that looks like a clone that is installed and built, but for commands that take minutes. */
async function clone(): Promise<ProgramFolder> {
  const folder = await ProgramFolder.create();
  const entries = readdirSync(ROOT).filter((name) => !['.git', '.env', 'data'].includes(name));
  await Promise.all(entries.map((name) => symlink(ROOT + name, folder.file(name))));
  await mkdir(folder.file('.bin'));
  await mkdir(folder.file('backups'));
  for (const [name, script] of Object.entries(STAND_INS)) {
    await writeFile(folder.file(`.bin/${name}`), `#!/bin/sh\n${script}`, { mode: 0o755 });
  }
  return folder;
}

/** What stands in for commands that install, build, test, or need another service. */
const STAND_INS = {
  npm: `
case "$1" in
  ci | cit | install | test | version) exit 0 ;;
  pack) exec test -f "\${2:-.}/package.json" ;;
  start) set -- run start ;;
  run) ;;
  *) echo "npm $1 has no stand-in" >&2; exit 1 ;;
esac
script=$2
grep -q "^    \\"$script\\":" package.json || { echo "there is no script $script" >&2; exit 1; }
shift 2
[ "$1" != -- ] || shift
case "$script:$DATABASE_URL" in
  *:postgres*) ;;
  start*) exec node dist/main.js ;;
  db:* | new:token:*) exec node "dist/commands/$(echo "$script" | tr : -).js" "$@" ;;
esac
`,
  docker: '',
  // What it imports is not installed.
  node: `[ "$1" != --import ] || shift 2; exec "${process.execPath}" "$@"`,
  psql: '',
  strace: 'while [ "$1" != node ]; do shift; done; exec "$@"',
};

/**
 * Pastes a block into a shell, with what earlier blocks of its document have exported. It is done
 * when the shell exits with 0, or the program listens and then stops.
 */
async function paste(
  { document, text }: Block,
  folder: ProgramFolder,
): Promise<{ status: string; output: string }> {
  const exports = folder.file(`.bin/${document.replaceAll('/', '-')}.exports`);
  const block = text.replaceAll(' /backups/', ` ${folder.file('backups')}/`);
  const script = `[ ! -f ${exports} ] || . ${exports}\n${block}\nexport -p > ${exports}`;
  const shell = spawn('sh', ['-ec', script], {
    cwd: folder.path,
    detached: true,
    env: {
      PATH: [folder.file('.bin'), process.env.PATH].join(delimiter),
      PORT: '0',
      SHUTDOWN_GRACE_MS: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const keep = (chunk: Buffer): unknown => (output += chunk.toString());
  shell.stdout.on('data', keep);
  shell.stderr.on('data', keep);
  const closed = once(shell, 'close').then(([code]) => (code === 0 ? 'done' : `exit ${code}`));
  for (;;) {
    const status = await Promise.race([closed, sleep(50, undefined)]);
    if (status !== undefined) return { status, output };
    if (output.includes('Listening on')) {
      process.kill(-(shell.pid ?? 0), 'SIGTERM');
      await closed;
      return { status: 'done', output };
    }
  }
}
