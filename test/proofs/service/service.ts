import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../packages/platform/src/testing/free-port.js';
import { until } from '../../../packages/platform/src/testing/until.js';
import type { Proof } from '../proof.js';

// Makes a service from the package that npm pack makes, and runs its commands, as its README says.

const ROOT = new URL('../../../', import.meta.url).pathname;
const NAME = 'garden-beds';
const TOKEN = 'my-token';
/** The row that the printed command creates. */
const ROW = /\{"id":\d+,"name":"first"\}/;
/** Settings of this repository must not become those of the service. */
const ENV = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(?:PATH|HOME|npm_config_.*)$/.test(name)),
);

let folder: string;
let service: string;

/** Runs a command in the service, or elsewhere, and returns what it prints. */
function run(command: string, cwd = service): string {
  console.log(`$ ${command}`);
  const bash = ['-ec', `exec 2>&1\n${command}`];
  const { status, stdout } = spawnSync('bash', bash, { cwd, env: ENV, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} failed:\n${stdout}`);
  return stdout;
}

/** Starts a program by a command, lets a function use it at its address, and stops it. */
async function use(
  command: string,
  env: Record<string, string>,
  act: (url: string, printed: () => string) => Promise<void>,
): Promise<void> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn('bash', ['-ec', command], {
    cwd: service,
    env: { ...ENV, PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const isReady = async (): Promise<boolean> =>
    (await fetch(`${url}/health/ready`).catch(() => undefined))?.ok === true;
  try {
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`exited: ${output}`);
      return await isReady();
    });
    await act(url, () => output);
  } finally {
    child.kill();
  }
  await until(async () => !(await isReady()));
}

/** Replaces parts of a file of the service. */
function change(path: string, changes: readonly (readonly [RegExp | string, string])[]): void {
  const file = join(service, path);
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    changes.reduce((changed, [part, other]) => changed.replace(part, other), text),
  );
}

/** Runs the steps, each of which goes on where the one before it ended. */
export default (async () => {
  // A blank, an umlaut and another project above must not matter.
  const parent = mkdtempSync(join(tmpdir(), 'service-'));
  writeFileSync(join(parent, 'package.json'), '{"name":"other","version":"1.0.0"}');
  folder = join(parent, 'Meine Gärten');
  service = join(folder, NAME);
  mkdirSync(folder);
  try {
    make();
    install();
    await startInDevelopment();
    run('npx nest g resource beds');
    run('npx nest g resource herbs --type=least');
    checkLinks();
    generateMigration();
    forgetColumn();
    writeMigration();
    run('npm run check');
    await runImage();
    update();
    await removeFirstModule();
  } finally {
    rmSync(parent, { recursive: true });
  }
  return [];
}) satisfies Proof;

function make(): void {
  run(`npm pack --silent --pack-destination '${folder}'`, join(ROOT, 'create'));
  const [tarball = ''] = readdirSync(folder);
  const create = `npx --yes --package "$PWD/${tarball}" create-durable-rest`;
  assert.match(run(`${create} Gärten || true`, folder), /Give the service one name/);
  assert.match(run(`${create} ${NAME}`, folder), new RegExp(`cd ${NAME}`));
  assert.match(run(`${create} ${NAME} || true`, folder), /choose another name/);
}

function install(): void {
  run('npm install --ignore-scripts --no-audit --no-fund');
  // What the script would build takes minutes.
  const binary = 'node_modules/sqlite3/build';
  cpSync(join(ROOT, binary), join(service, binary), { recursive: true });
  run('npm run postinstall');
}

/** The program prints a command that creates a row. */
async function startInDevelopment(): Promise<void> {
  await use('npm start', {}, async (_, printed) => {
    await until(() => printed().includes('curl'));
    const [command = ''] = /^curl .*$/m.exec(printed()) ?? [];
    assert.match(run(command), ROW);
  });
  assert.ok(readdirSync(join(service, 'data')).includes(`${NAME}.db`));
}

/** The documents come with the files to which they link. */
function checkLinks(): void {
  const docs = join(service, 'node_modules/durable-rest/docs');
  const documents = readdirSync(docs).filter((path) => path.endsWith('.md'));
  const links = documents.flatMap((path) =>
    [...readFileSync(join(docs, path), 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)].map(
      ([, target = '']) => target,
    ),
  );
  assert.ok(links.length > 100);
  assert.deepEqual(
    links.filter((target) => !existsSync(join(docs, target))),
    [],
  );
}

/** TypeORM generates migrations, but not over missing ones. */
function generateMigration(): void {
  const generate = 'npm run typeorm -- migration:generate src/add-color';
  assert.match(run(`${generate} || true`), /The store lacks migrations, such as CreateBeds/);
  run('npm run typeorm -- migration:run');
  assert.match(run(`${generate} || true`), /No changes in database schema were found/);
  change('src/modules/items/item.entity.ts', [
    ['{ int64,', '{ int64, nullable,'],
    [/\}\n$/, '\n  @Column(nullable(text()))\n  color?: string | null;\n}\n'],
  ]);
  assert.match(run(generate), /add-color\.ts has been generated successfully/);
  run('rm src/*-add-color.ts');
}

/** The tests name a column that no migration makes. */
function forgetColumn(): void {
  const test = 'npm run jest -- src/schema.e2e-spec.ts';
  assert.match(run(`${test} || true`), /ADD \\"color\\"/);
}

/** A migration for both engines is written by hand. */
function writeMigration(): void {
  const folder = 'src/modules/items/migrations';
  run(`npm run typeorm -- migration:create ${folder}/add-color`);
  const [file = ''] = readdirSync(join(service, folder)).filter((path) => path.includes('color'));
  const addColumn = `await changeSchema(queryRunner).addColumn({ table: 'items', column: 'color', type: nullable(text()) });`;
  change(`${folder}/${file}`, [
    [/^/, `import { changeSchema, nullable, text } from 'durable-rest';`],
    [/(?<=up\([^{]*\{)[^}]*/, addColumn],
    [/(?<=down\([^{]*\{)[^}]*/, `await queryRunner.query('ALTER TABLE items DROP COLUMN color');`],
  ]);
  const name = `AddColor${file.slice(0, 13)}`;
  const path = `./modules/items/migrations/${file.replace(/ts$/, 'js')}`;
  change('src/schema.ts', [
    [/^/, `import { ${name} } from '${path}';`],
    [/(migrations: \[[^\]]*?),?\s*\]/, `$1, ${name}]`],
  ]);
  run('npm run format');
}

/** The README says how, with the package of the next release. */
function update(): void {
  const readme = readFileSync(join(service, 'README.md'), 'utf8');
  const [, commands = ''] = /^## Update$[^]*?```sh\n([^]*?)```/m.exec(readme) ?? [];
  const [tarball = ''] = readdirSync(folder).filter((path) => path.endsWith('.tgz'));
  run(commands.replace(/create-durable-rest-\S+/, tarball));
}

/** The table and its rows stay in the store. */
async function removeFirstModule(): Promise<void> {
  const schema = readFileSync(join(service, 'src/schema.ts'), 'utf8');
  const migrations = [...schema.matchAll(/import \{ (\w+) \}.*items\/migrations/g)];
  const names = migrations.map(([, name = '']) => name);
  run('rm -r src/modules/items');
  change('src/app.module.ts', [
    [/import .*items.*\n/, ''],
    ['ItemsModule,', ''],
  ]);
  change('src/schema.ts', [
    [/import .*modules\/items.*\n/g, ''],
    [/\bItem,/, ''],
    [new RegExp(names.map((name) => `${name},?`).join('|'), 'g'), ''],
  ]);
  change('src/service.ts', [["path: '/items'", "path: '/herbs'"]]);
  assert.match(run('timeout 120 npm start || true'), /list its name in retired of src\/schema\.ts/);
  const retired = names.map((name) => `'${name}'`).join(', ');
  change('src/schema.ts', [['entities:', `retired: [${retired}],\n  entities:`]]);
  run('npm run format && npm run lint');
  await startInDevelopment();
}

/** What the steps of the Dockerfile leave of the installation must still be a program. */
async function runImage(): Promise<void> {
  const steps = readFileSync(join(service, 'Dockerfile'), 'utf8').matchAll(/^RUN (npm run.*)$/gm);
  for (const [, step = ''] of steps) run(step);
  const env = { NODE_ENV: 'production', ACCESS_TOKENS: TOKEN };
  await use('npm run start:prod', env, async (url) => {
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const answer = await fetch(`${url}/items`, { headers });
    assert.match(await answer.text(), ROW);
  });
  run('npm run db:check');
}
