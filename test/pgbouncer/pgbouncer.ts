import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/free-port.js';
import { PostgresServer, unprivileged } from '../support/postgres-server.js';

// npm run test:pgbouncer -- [patterns]
//
// Runs the suite of PostgreSQL on a server behind PgBouncer in session mode. It needs Debian's
// package pgbouncer.

const folder = mkdtempSync(join(tmpdir(), 'plant-store-pgbouncer-'));
chmodSync(folder, 0o755);
const server = await PostgresServer.start();
const port = await freePort();
writeFileSync(join(folder, 'users'), '"postgres" ""\n"plants" ""\n');
writeFileSync(
  join(folder, 'pgbouncer.ini'),
  `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
pool_mode = session
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users')}
max_client_conn = 1000
default_pool_size = 50
`,
);
const bouncer = spawn('pgbouncer', ['-q', join(folder, 'pgbouncer.ini')], {
  ...(await unprivileged()),
  env: { PATH: `${String(process.env.PATH)}:/usr/sbin` },
  stdio: ['ignore', 'ignore', 'inherit'],
});
bouncer.once('error', () => console.error('pgbouncer is not installed'));
try {
  await listening();
  const npm = spawn('npm', ['test', '--', '--selectProjects', 'postgres', ...patterns()], {
    env: { ...process.env, DATABASE_URL: server.url().replace(String(server.port), String(port)) },
    stdio: 'inherit',
  });
  const [code] = (await once(npm, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  bouncer.kill('SIGKILL');
  await server.remove();
  rmSync(folder, { recursive: true });
}

function patterns(): string[] {
  const given = process.argv.slice(2);
  return given.length > 0 ? ['--testPathPatterns', ...given] : [];
}

async function listening(): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch {
      await sleep(50);
    } finally {
      socket.destroy();
    }
    if (bouncer.exitCode !== null) throw new Error('pgbouncer does not start');
  }
}
