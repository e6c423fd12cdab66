import assert from 'node:assert/strict';
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { after, before, it } from 'node:test';
import { promisify } from 'node:util';
import { PlantStoreClient } from '../../../client/plant-store-client.js';
import { type Program, ProgramFolder } from '../../support/program.js';
import { TOKEN } from '../../../packages/platform/src/testing/token.js';
import { until } from '../../../packages/platform/src/testing/until.js';

// Runs Litestream beside the program, with the configuration of docs/backups.md, and restores.

/** The package has Litestream's binary for 64-bit Linux on x86. */
const PACKAGE = '@flydotio/litestream-linux-x64';
const VERSION = '1.0.1';
const BACKUPS = new URL('../../../docs/backups.md', import.meta.url);
/** How many clients create plants at the same time. */
const CLIENTS = 16;
/** Enough for several checkpoints of the write-ahead log. */
const PLANTS_BEFORE_KILL = 6_000;

let folder: ProgramFolder;
let program: Program;
let client: PlantStoreClient;
let litestream: ChildProcess;
let binary: string;
/** The ids of acknowledged plants, in the order of the answers. */
const acknowledged: number[] = [];
let lastId = 0;

before(async () => {
  folder = await ProgramFolder.create();
  const tool = folder.file('tool');
  const install = ['install', '--no-save', '--no-audit', '--prefix', tool, `${PACKAGE}@${VERSION}`];
  execFileSync('npm', install, { stdio: 'ignore' });
  binary = `${tool}/node_modules/${PACKAGE}/litestream`;
  await writeFile(folder.file('litestream.yml'), readConfiguration());
  await startProgram();
  startLitestream();
});

after(() => {
  litestream.kill('SIGKILL');
  return folder.remove();
});

/** Reads the configuration of the documentation, with the paths of this folder. */
function readConfiguration(): string {
  const [, text = ''] = /^```yaml\n(dbs:\n[^]*?)^```$/m.exec(readFileSync(BACKUPS, 'utf8')) ?? [];
  return text
    .replace('/var/lib/plant-store/plants.db', 'plants.db')
    .replace('/var/backups/plant-store/replica', 'replica');
}

async function startProgram(store = 'plants.db'): Promise<void> {
  program = folder.serve({ DATABASE_URL: `sqlite:${store}`, CHANGE_FEED: 'on' });
  client = new PlantStoreClient(await program.listening(), TOKEN, { attempts: 1 });
}

function startLitestream(): void {
  litestream = spawn(binary, ['replicate', '-config', 'litestream.yml'], {
    cwd: folder.path,
    stdio: 'ignore',
  });
}

async function endLitestream(signal: NodeJS.Signals): Promise<void> {
  litestream.kill(signal);
  await once(litestream, 'exit');
}

/** Creates plants until there are so many more, or until the program is gone. */
async function createPlants(count: number): Promise<void> {
  const last = lastId + count;
  const create = async (): Promise<void> => {
    while (lastId < last) {
      const id = ++lastId;
      await client.createPlant({ id, name: `plant ${id}` });
      acknowledged.push(id);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, create));
}

/** Restores the replica, and resolves with the ids of its plants; with none if it has no table. */
async function restore(): Promise<Set<number>> {
  await rm(folder.file('restored.db'), { force: true });
  const restoring = ['restore', '-config', 'litestream.yml', '-o', 'restored.db', 'plants.db'];
  const run = promisify(execFile);
  const options = { cwd: folder.path, maxBuffer: Infinity };
  try {
    await run(binary, restoring, options);
    const query = ['restored.db', 'SELECT id FROM plants'];
    const { stdout } = await run('sqlite3', query, options);
    return new Set(stdout.trim().split('\n').map(Number));
  } catch {
    // Nothing is replicated yet.
    return new Set();
  }
}

function listMissing(ids: readonly number[], stored: ReadonlySet<number>): number[] {
  return ids.filter((id) => !stored.has(id));
}

it('a replica gets everything that was acknowledged', async () => {
  await createPlants(1_000);
  await until(async () => listMissing(acknowledged, await restore()).length === 0);
});

it('a restore after both were killed lacks nothing that was synchronized before', async () => {
  const synchronized = [...acknowledged];
  const creates = createPlants(Infinity).catch(() => undefined);
  await until(() => acknowledged.length > synchronized.length + PLANTS_BEFORE_KILL);
  await endLitestream('SIGKILL');
  await program.end('SIGKILL');
  await creates;
  const stored = await restore();
  assert.deepEqual(listMissing(synchronized, stored), []);
  // A replica is the store of one moment: what it lacks was acknowledged after all that it has.
  const position = acknowledged.findIndex((id) => !stored.has(id));
  const later = position === -1 ? [] : acknowledged.slice(position + CLIENTS);
  assert.deepEqual(
    later.filter((id) => stored.has(id)),
    [],
  );
});

it('the store itself has lost nothing, and is replicated again', async () => {
  await startProgram();
  startLitestream();
  for (const id of acknowledged.slice(-CLIENTS)) await client.readPlant(id);
  await createPlants(1_000);
  await until(async () => listMissing(acknowledged, await restore()).length === 0);
});

it('the program writes on after Litestream has stopped', async () => {
  await endLitestream('SIGTERM');
  await createPlants(100);
  await program.end('SIGKILL');
  await startProgram();
  for (const id of acknowledged.slice(-CLIENTS)) await client.readPlant(id);
  await program.end();
});

it('the program serves from a restored store', async () => {
  const restored = await restore();
  const checked = await folder.run('db-check', ['restored.db'], {});
  assert.equal(checked.exitCode, 0, checked.errors);
  await startProgram('restored.db');
  const [id = 0] = restored;
  assert.equal((await client.readPlant(id)).plant.name, `plant ${id}`);
  acknowledged.length = 0;
  await createPlants(10);
  assert.equal(acknowledged.length, 10);
});
