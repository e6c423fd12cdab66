import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { PostgresServer } from '../../support/postgres-server.js';
import { Container, podman } from './container.js';

const TOKEN = 'correct-horse-battery-staple';
const VOLUME = 'plant-store-test';
/** The largest size of the image without Debian and Node, in bytes. */
const MAX_PROGRAM_SIZE = 40_000_000;

let container: Container | undefined;

beforeEach(async () => {
  await podman('volume', 'create', VOLUME);
});

afterEach(async () => {
  await container?.remove();
  container = undefined;
  await podman('volume', 'rm', VOLUME);
});

async function start(env: Record<string, string> = {}): Promise<Container> {
  container = await Container.start(VOLUME, { ACCESS_TOKENS: TOKEN, ...env });
  await container.healthy();
  return container;
}

async function readSize(image: string): Promise<number> {
  return Number(await podman('image', 'inspect', '--format', '{{.Size}}', image));
}

async function create({ url }: Container, plant: object): Promise<unknown> {
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify(plant);
  const answer = await fetch(`${url}/plants`, { method: 'POST', headers, body });
  assert.equal(answer.status, 200);
  return await answer.json();
}

async function ids({ url }: Container): Promise<number[]> {
  const answer = await fetch(`${url}/plants`, { headers: { Authorization: `Bearer ${TOKEN}` } });
  return ((await answer.json()) as { id: number }[]).map(({ id }) => id);
}

describe('the image', () => {
  it('adds no more than the program and its dependencies', async () => {
    const all = await readSize('plant-store');
    const program = all - (await readSize('plant-store-base'));
    console.log(`the image has ${all} bytes, ${program} of them besides Debian and Node`);
    assert.ok(program < MAX_PROGRAM_SIZE);
    const files = await Container.command(VOLUME, {}, 'ls', '/app');
    assert.deepEqual(files.split('\n'), ['LICENSE', 'dist', 'node_modules', 'package.json']);
  });

  it('runs as user 1000, without privileges, and can write nowhere but to /data', async () => {
    const running = await start();
    const status = await running.exec('cat', '/proc/1/status');
    assert.match(status, /^Uid:\t1000\t1000\t1000\t1000$/m);
    assert.match(status, /^Gid:\t1000\t1000\t1000\t1000$/m);
    assert.match(status, /^CapEff:\t0+$/m);
    await assert.rejects(running.exec('touch', '/app/file'), /Read-only file system/);
    await running.exec('touch', '/data/file');
  });

  it('creates plants, which outlast it, and ends with 0 after SIGTERM', async () => {
    const first = await start();
    assert.deepEqual(await create(first, { id: 1, name: 'Monstera', tag: 'indoor' }), {
      name: 'Monstera',
      tag: 'indoor',
    });
    assert.equal(await first.stop(), 0);
    assert.match(await first.logs(), /"msg":"Stopped"/);
    await first.remove();
    assert.deepEqual(await ids(await start()), [1]);
  });

  it('shows Swagger UI, with all that its page loads', async () => {
    const { url } = await start();
    const page = await (await fetch(`${url}/docs`)).text();
    const paths = [...page.matchAll(/(?:src|href)="(\.[^"]+)"/g)].map(([, path = '']) => path);
    assert.ok(paths.length >= 4);
    for (const path of [...paths, '/openapi.json']) {
      assert.equal((await fetch(new URL(path, `${url}/docs`))).status, 200, path);
    }
  });

  it('has the commands that back up and check a store', async () => {
    const running = await start();
    await create(running, { id: 1, name: 'n' });
    await running.exec('node', 'dist/commands/db-backup.js', '/data/copy.db');
    const report = await running.exec('node', 'dist/commands/db-check.js', '/data/copy.db');
    assert.match(report, /plants/);
  });
});

describe('the image on PostgreSQL', () => {
  let postgres: PostgresServer;

  before(async () => {
    postgres = await PostgresServer.start();
  });

  after(() => postgres.remove());

  it('serves what db:copy has copied from SQLite, and writes nothing to /data', async () => {
    const first = await start();
    for (const id of [1, 2, 3]) await create(first, { id, name: 'n' });
    await first.stop();
    await first.remove();
    const env = { DATABASE_URL: postgres.url() };
    const copy = ['node', 'dist/commands/db-copy.js', 'sqlite:/data/plants.db', postgres.url()];
    await Container.command(VOLUME, {}, ...copy);
    await Container.command(VOLUME, {}, 'sh', '-c', 'rm /data/*');
    const second = await start(env);
    await create(second, { id: 4, name: 'n' });
    assert.deepEqual(await ids(second), [1, 2, 3, 4]);
    assert.equal(await second.exec('ls', '/data'), '');
    assert.equal(await second.stop(), 0);
  });
});
