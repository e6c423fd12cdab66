import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { afterEach, before, beforeEach, describe, it } from 'node:test';
import { freePort } from '../../support/free-port.js';
import { TOKEN } from '../../support/token.js';
import { until } from '../../support/until.js';

// Builds the container image without Docker, and runs it as docs/operations.md says.

const BUILD_IMAGE = new URL('build-image.sh', import.meta.url).pathname;
const NAME = 'plant-store-test';
/** The largest size of the image without Debian and Node, in bytes. */
const MAX_PROGRAM_SIZE = 40_000_000;
const AS_DOCUMENTED = [
  ...['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
  ...['--volume', `${NAME}:/data`],
];
/** The options with which podman works without a network, systemd and the right to raise limits. */
const FOR_A_SANDBOX = [
  ...['--network', 'host', '--cgroups', 'no-conmon'],
  ...['--ulimit', 'nofile=10000:10000', '--ulimit', 'nproc=10000:10000'],
];

let url: string;

function podman(...args: string[]): string {
  return execFileSync('podman', ['--runtime', 'runc', ...args], { encoding: 'utf8' }).trim();
}

/** Runs a command beside the program. */
function execute(...command: string[]): string {
  return podman('exec', NAME, ...command);
}

async function start(): Promise<void> {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const env = ['--env', `ACCESS_TOKENS=${TOKEN}`, '--env', `PORT=${port}`];
  const options = ['--detach', '--name', NAME, ...AS_DOCUMENTED, ...FOR_A_SANDBOX, ...env];
  podman('run', ...options, 'plant-store');
  await until(() => {
    try {
      podman('healthcheck', 'run', NAME);
      return true;
    } catch {
      return false;
    }
  });
}

async function send(method: string, path: string, body?: string): Promise<string> {
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
  const answer = await fetch(url + path, { method, headers, ...(body !== undefined && { body }) });
  assert.equal(answer.status, 200);
  return await answer.text();
}

describe('the image', () => {
  before(() => execFileSync(BUILD_IMAGE, { stdio: ['ignore', 'ignore', 'inherit'] }));
  beforeEach(async () => {
    podman('volume', 'create', NAME);
    await start();
  });
  afterEach(() => {
    podman('rm', '--force', NAME);
    podman('volume', 'rm', NAME);
  });

  it('adds no more than the program and its dependencies', () => {
    const sizeOf = (image: string): number =>
      Number(podman('image', 'inspect', '--format', '{{.Size}}', image));
    assert.ok(sizeOf('plant-store') - sizeOf('plant-store-base') < MAX_PROGRAM_SIZE);
    const files = execute('ls', '/app').split('\n');
    assert.deepEqual(files, ['LICENSE', 'dist', 'node_modules', 'package.json']);
  });

  it('runs as user 1000, without privileges, and can write nowhere but to /data', () => {
    const status = execute('cat', '/proc/1/status');
    assert.match(status, /^Uid:\t1000\t1000\t1000\t1000$/m);
    assert.match(status, /^Gid:\t1000\t1000\t1000\t1000$/m);
    assert.match(status, /^CapEff:\t0+$/m);
    assert.throws(() => execute('touch', '/app/file'), /Read-only file system/);
    execute('touch', '/data/file');
  });

  it('creates plants, which outlast it, and ends with 0 after SIGTERM', async () => {
    const body = '{"id":1,"name":"Monstera"}';
    assert.equal(await send('POST', '/plants', body), '{"name":"Monstera"}');
    podman('stop', '--time', '10', NAME);
    assert.equal(podman('inspect', '--format', '{{.State.ExitCode}}', NAME), '0');
    podman('rm', '--force', NAME);
    await start();
    assert.equal(await send('GET', '/plants'), `[${body}]`);
  });

  it('has Swagger UI, and the commands that back up and check a store', async () => {
    const page = await send('GET', '/docs');
    const paths = [...page.matchAll(/(?:src|href)="\.(\/[^"]+)"/g)].map(([, path = '']) => path);
    assert.ok(paths.length >= 4);
    for (const path of paths) await send('GET', path);
    execute('node', 'dist/commands/db-backup.js', '/data/copy.db');
    assert.match(execute('node', 'dist/commands/db-check.js', '/data/copy.db'), /plants/);
  });
});
