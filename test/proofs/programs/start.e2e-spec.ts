import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ROOT } from '../../support/documents.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { querySqlite } from '../../support/query-sqlite.js';

/** Sends SIGTERM when the store is about to be opened. */
const SIGNAL_SOON = encodeURIComponent(
  `import fs from 'node:fs/promises';
   import { syncBuiltinESMExports } from 'node:module';
   const { mkdir } = fs;
   fs.mkdir = (...args) => { process.kill(process.pid, 'SIGTERM'); return mkdir(...args); };
   syncBuiltinESMExports();`,
);

let folder: ProgramFolder;

beforeEach(async () => {
  folder = await ProgramFolder.create();
});

afterEach(() => folder.remove());

async function createPlant(url: string, token: string, id: number): Promise<Response> {
  return await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ id, name: 'Monstera' }),
  });
}

describe('a start without any configuration', () => {
  it('prints a curl with a token of its own that creates a plant', async () => {
    const tokens = new Set<string>();
    for (const plants of [1, 2]) {
      const program = folder.start();
      const [curl] = await program.printed(/^curl .*$/m, 'errors');
      const [, token = ''] = /Bearer ([^']+)'/.exec(curl) ?? [];
      const { stdout } = await promisify(execFile)('sh', ['-c', `${curl} -s`]);
      expect(stdout).toBe('{"name":"Monstera","tag":"indoor"}\n');
      program.kill('SIGINT');
      expect(await program.exited()).toBe(0);
      expect(
        await querySqlite(folder.file('data/plants.db'), 'SELECT count(*) AS plants FROM plants'),
      ).toEqual([{ plants }]);
      expect(program.errors.split(token)).toHaveLength(2);
      expect(program.output).not.toContain(token);
      // Readers of the log expect only JSON.
      for (const line of program.output.trimEnd().split('\n')) JSON.parse(line);
      tokens.add(token);
    }
    expect(tokens.size).toBe(2);
  });
});

describe('a start with a configuration', () => {
  it('reads .env, lets the environment win, and prints no secret', async () => {
    await writeFile(
      folder.file('.env'),
      'ACCESS_TOKENS=from-file,also-from-file\nACCESS_TOKEN=mistyped\nLOG_LEVEL=nonsense\nDATABASE_URL=sqlite:deep/down/p.db\n',
    );
    const provider = {
      AUTH_JWKS_URL: 'https://id.example/jwks',
      AUTH_ISSUER: 'https://id.example',
      AUTH_AUDIENCE: 'plants',
    };
    const program = folder.start({ LOG_LEVEL: 'info', ...provider });
    const url = await program.listening();
    expect((await createPlant(url, 'from-file', 1)).status).toBe(200);
    expect(existsSync(folder.file('deep/down/p.db'))).toBe(true);
    await program.printed(/"Accepting static tokens \(2\) and JWTs of the identity provider"/);
    await program.printed(
      new RegExp(`"Storing in the SQLite file ${folder.file('deep/down/p.db')}"`),
    );
    const [, settings] = await program.printed(/"Settings: (.*)"/);
    const others = 'PORT, AUTH_JWKS_URL, AUTH_ISSUER, AUTH_AUDIENCE, SHUTDOWN_GRACE_MS, LOG_LEVEL';
    expect(settings).toBe(
      `DATABASE_URL, ACCESS_TOKENS from ${folder.file('.env')}; ${others} from the environment; else the defaults; .env has ACCESS_TOKEN, which is no setting`,
    );
    program.kill('SIGTERM');
    expect(await program.exited()).toBe(0);
    const printed = program.output + program.errors;
    expect(printed).not.toMatch(/from-file|mistyped|id\.example|curl/);
  });

  it('in production takes an identity provider for tokens', async () => {
    const AUTH_JWKS_URL = 'https://id.example/jwks';
    const rest = { AUTH_ISSUER: 'https://id.example', AUTH_AUDIENCE: 'plants' };
    const program = folder.start({ NODE_ENV: 'production', AUTH_JWKS_URL, ...rest });
    await program.printed(/"Accepting JWTs of the identity provider"/);
    // It would be printed last.
    program.kill('SIGTERM');
    expect(await program.exited()).toBe(0);
    expect(program.errors).not.toContain('curl');
  });
});

it.each([
  ['0.0.0.0', 'http://127.0.0.1:'],
  ['::', 'http://[::1]:'],
])('a start with HOST=%s prints addresses that open', async (HOST, address) => {
  const program = folder.start({ HOST });
  const url = await program.listening();
  expect(url.startsWith(address)).toBe(true);
  await program.printed(/"Listening on .*, and at all other addresses of this machine"/);
  const [, created] = await program.printed(/^curl -X POST (\S+)/m, 'errors');
  expect(created).toBe(`${url}/plants`);
  expect((await fetch(`${url}/docs`)).status).toBe(200);
});

describe('a start that cannot succeed exits 1 with one line for each fault', () => {
  async function expectRefusal(env: Record<string, string>, ...lines: RegExp[]): Promise<void> {
    const program = folder.start(env);
    expect(await program.exited()).toBe(1);
    const printed = program.errors.trimEnd().split('\n');
    expect(printed).toEqual(lines.map((line) => expect.stringMatching(line)));
    expect(program.output).not.toContain('Listening');
  }

  it('with wrong variables, and without a token', async () => {
    const env = { PORT: 'x', HOST: '!', LOG_LEVEL: 'x', NODE_ENV: 'production' };
    const tokens = /^ACCESS_TOKENS must hold a token/;
    await expectRefusal(env, /^HOST must/, /^PORT must/, tokens, /^LOG_LEVEL must/);
  });

  it('with an argument', async () => {
    const program = folder.start({}, '--port=80');
    expect(await program.exited()).toBe(1);
    expect(program.errors).toBe('The program takes no arguments\n');
  });

  it('on settings that cannot be read', async () => {
    await mkdir(folder.file('.env'));
    await expectRefusal({}, /^The settings in \S+\.env cannot be read: EISDIR/);
  });

  it('on a host name that is not known', async () => {
    await expectRefusal({ HOST: 'no.invalid', ACCESS_TOKENS: 't' }, /^HOST is .*: no\.invalid$/);
  });

  it('on a file that is not a database', async () => {
    await writeFile(folder.file('p.db'), 'not a database\n'.repeat(1_000));
    await expectRefusal(
      { DATABASE_URL: 'sqlite:p.db' },
      new RegExp(`the SQLite file ${folder.file('p.db')}: the file is not a SQLite database$`),
    );
  });

  it('on a port in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const PORT = String((other.address() as AddressInfo).port);
    await expectRefusal(
      { PORT, ACCESS_TOKENS: 't' },
      new RegExp(`^Port ${PORT} of 127\\.0\\.0\\.1 is in use by another program: set PORT to`),
    );
    other.close();
  });

  it('before it closes what it has opened, which may hang', async () => {
    const nest = pathToFileURL(join(ROOT, 'node_modules/@nestjs/core/nest-application.js')).href;
    const hang = `import{NestApplication}from"${nest}";NestApplication.prototype.close=()=>new Promise(()=>setInterval(()=>0,1e3))`;
    const program = folder.start({
      HOST: '192.0.2.1',
      ACCESS_TOKENS: 't',
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(hang)}`,
    });
    await program.printed(/^HOST is not an address of this machine/m, 'errors');
    program.kill('SIGKILL');
    await program.exited();
  });

  it('on an address of another machine', async () => {
    await expectRefusal(
      { HOST: '192.0.2.1', ACCESS_TOKENS: 't' },
      /^HOST is not an address of this machine: 192\.0\.2\.1$/,
    );
  });
});

it('a program that gets SIGTERM during its start exits 0 at once', async () => {
  const program = folder.start({
    ACCESS_TOKENS: 't',
    NODE_OPTIONS: `--import data:text/javascript,${SIGNAL_SOON}`,
  });
  expect(await program.exited()).toBe(0);
  expect(program.output).not.toContain('Listening');
});
