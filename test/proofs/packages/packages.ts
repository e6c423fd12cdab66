import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';

// Installs the tarballs of both packages as their READMEs say, where a package finds only what its own
// package.json names. Then it compiles the programs of the READMEs, and starts them.

const ROOT = new URL('../../../', import.meta.url).pathname;
const execute = promisify(execFile);

/** The commands that install packages without others beside them, by what they are called. */
const INSTALLERS = {
  npm: ['npm', 'install', '--install-strategy=linked'],
  pnpm: ['npx', '--yes', 'pnpm@10.34.8', 'install'],
} as const;
/** The binary of sqlite3 comes from the repository, since some machines take minutes to build it. */
const WITHOUT_SCRIPTS = '--ignore-scripts';

/** The last name of a file before a block, and the block. */
const FILE =
  /`([\w./-]+\.(?:json|ts))`(?:(?!\.(?:json|ts)`)[^])*?```(?:json|ts|typescript)\n([^]*?)^```/gm;

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plant-store-packages-'));
  for (const name of ['store', 'platform']) {
    const cwd = join(ROOT, 'packages', name);
    await execute('npm', ['pack', '--pack-destination', folder], { cwd });
  }
});

after(() => rm(folder, { recursive: true }));

/** Writes the files of a README to a new folder beside the tarballs, and installs its packages. */
async function install(name: string, installer: keyof typeof INSTALLERS): Promise<string> {
  const project = join(folder, `${name}-${installer}`);
  const readme = readFileSync(join(ROOT, 'packages', name, 'README.md'), 'utf8');
  for (const [, file = '', content = ''] of readme.matchAll(FILE)) {
    const path = join(project, file.endsWith('json') || file.startsWith('src/') ? '' : 'src', file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content.replaceAll('file:', 'file:../'));
  }
  const [command, ...args] = INSTALLERS[installer];
  await execute(command, [...args, WITHOUT_SCRIPTS], { cwd: project });
  placeBinary(project);
  await execute('npx', ['tsc'], { cwd: project });
  return project;
}

/** Copies the binary of sqlite3 to the package that the store finds. */
function placeBinary(project: string): void {
  const store = realpathSync(join(project, 'node_modules/durable-store/package.json'));
  const find = (from: string): string =>
    dirname(createRequire(from).resolve('sqlite3/package.json'));
  const binary = 'build/Release/node_sqlite3.node';
  const target = join(find(store), binary);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(find(import.meta.filename), binary), target);
}

for (const installer of ['npm', 'pnpm'] as const) {
  describe(`installed by ${installer}`, () => {
    it('the store alone keeps a row', async () => {
      const project = await install('store', installer);
      const { stdout } = await execute('node', ['dist/main.js'], { cwd: project });
      assert.equal(stdout, "Bed { id: '1', name: 'herbs' }\n");
    });

    it('a service serves, and stops', async () => {
      const cwd = await install('platform', installer);
      const env = { PATH: process.env.PATH, PORT: '0' };
      const program = spawn('node', ['dist/main.js'], { cwd, env });
      const errors = text(program.stderr);
      let log = '';
      for await (const chunk of program.stdout.setEncoding('utf8')) {
        log += chunk as string;
        const hasStarted = log.includes('Settings from the environment');
        if (hasStarted && !program.killed) program.kill();
      }
      assert.deepEqual(await once(program, 'close'), [0, null]);
      assert.match(log, /Listening on http/);
      assert.match(await errors, /curl -X POST http\S+\/beds /);
    });
  });
}

it('a program with two copies of the store says which they are', async () => {
  const project = await install('store', 'npm');
  const store = realpathSync(join(project, 'node_modules/durable-store'));
  // Beside the first one, it finds the same packages.
  const copy = join(dirname(store), 'copy-of-store');
  cpSync(store, copy, { recursive: true });
  const packageJson = join(copy, 'package.json');
  const described = readFileSync(packageJson, 'utf8');
  writeFileSync(packageJson, described.replace(/"version": ".*"/, '"version": "0.0.1"'));
  const main = join(project, 'dist/main.js');
  writeFileSync(main, `import '${copy}/dist/index.js';\n${readFileSync(main, 'utf8')}`);
  await assert.rejects(
    execute('node', [main], { cwd: project }),
    /more than one durable-store: 0\.0\.1 in \S+ and \d+\.\d+\.\d+ in \S+\. Let all packages/,
  );
});
