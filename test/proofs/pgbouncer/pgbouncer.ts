import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../packages/platform/src/testing/free-port.js';
import { isListening } from '../../support/http/connection.js';
import { inNewFolder } from '../../support/new-folder.js';
import {
  PostgresServer,
  findUnprivilegedUser,
} from '../../../packages/platform/src/testing/postgres-server.js';
import { until } from '../../../packages/platform/src/testing/until.js';
import type { Proof } from '../proof.js';

/**
 * The tests that need what PgBouncer cannot do, each by the beginning of its name. It refuses the
 * startup parameter `options`, and its open connections keep the settings that a role had when they
 * were opened.
 */
const LEFT_OUT = [
  'two services in one database touch only their own schemas: one role, and ',
  'a schema that is made later, and comes first in the search path, does not hide the store: ',
];

/**
 * Runs the tests of PostgreSQL whose paths match one of the arguments, or else all, on a server
 * behind PgBouncer in session mode.
 */
export default ((args) => inNewFolder((folder) => testBehindBouncer(folder, args))) satisfies Proof;

async function testBehindBouncer(folder: string, patterns: readonly string[]): Promise<string[]> {
  chmodSync(folder, 0o755);
  const server = await PostgresServer.start();
  const port = await freePort();
  writeFileSync(join(folder, 'users'), '"postgres" ""\n');
  writeFileSync(join(folder, 'pgbouncer.ini'), settings(folder, server.port, port));
  const bouncer = spawn('pgbouncer', ['-q', join(folder, 'pgbouncer.ini')], {
    ...(await findUnprivilegedUser()),
    env: { PATH: `${String(process.env.PATH)}:/usr/sbin` },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  bouncer.once('error', () => {
    throw new Error('pgbouncer is not installed');
  });
  try {
    await until(async () => {
      if (bouncer.exitCode !== null) throw new Error('pgbouncer does not start');
      return await isListening(port);
    });
    console.log(
      ['PgBouncer cannot pass these tests, which are left out:', ...LEFT_OUT].join('\n  '),
    );
    const names = ['--testNamePattern', `^(?!${LEFT_OUT.join('|')})`];
    const paths = patterns.length > 0 ? ['--testPathPatterns', ...patterns] : [];
    const args = ['run', 'jest', '--', '--selectProjects', 'postgres', ...names, ...paths];
    const npm = spawn('npm', args, {
      env: {
        ...process.env,
        DATABASE_URL: server.url().replace(String(server.port), String(port)),
      },
      stdio: 'inherit',
    });
    const [code] = (await once(npm, 'exit')) as [number | null];
    return code === 0 ? [] : ['the tests fail behind PgBouncer'];
  } finally {
    bouncer.kill('SIGKILL');
    await server.remove();
  }
}

/** It asks the server for the roles that tests create, as the user of the file. */
function settings(folder: string, server: number, port: number): string {
  return `[databases]
* = host=127.0.0.1 port=${server}
[pgbouncer]
pool_mode = session
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users')}
auth_user = postgres
max_client_conn = 1000
default_pool_size = 50
`;
}
