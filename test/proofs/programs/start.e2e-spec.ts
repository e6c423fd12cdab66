import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import { preload, Program, ProgramFolder } from '../../support/program.js';

const MEMORY = 'sqlite::memory:';
const STORE = 'sqlite:data/plants.db';
const PROVIDER = {
  AUTH_JWKS_URL: 'https://id.example/jwks',
  AUTH_ISSUER: 'https://id.example',
  AUTH_AUDIENCE: 'plants',
};
const IN_USE =
  'Another program serves from this store: stop it, or give this one a store of its own\n';

/** The start of a command that root runs as an ordinary user: root can write everywhere. */
const AS_ORDINARY_USER =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];

/** Sends SIGTERM when the store is about to be opened. */
const SIGNAL_SOON = `import fs from 'node:fs/promises';
   import { syncBuiltinESMExports } from 'node:module';
   const { mkdir } = fs;
   fs.mkdir = (...args) => { process.kill(process.pid, 'SIGTERM'); return mkdir(...args); };
   syncBuiltinESMExports();`;

let folder: ProgramFolder;

beforeEach(async () => {
  folder = await ProgramFolder.create();
});
afterEach(() => folder.remove());

it('a start without any configuration prints a curl with a new token that creates a plant', async () => {
  const tokens = new Set<string>();
  for (let start = 0; start < 2; start++) {
    const program = folder.start();
    const [curl] = await program.printed(/^curl .*$/m, 'errors');
    const [, token = ''] = /Bearer ([^']+)'/.exec(curl) ?? [];
    const { stdout } = await promisify(execFile)('sh', ['-c', `${curl} -s`]);
    expect(stdout).toBe('{"name":"Monstera","tag":"indoor"}\n');
    expect(await program.end('SIGINT')).toBe(0);
    expect(program.errors.split(token)).toHaveLength(2);
    expect(program.output).not.toContain(token);
    // Readers of the log expect only JSON.
    for (const line of program.output.trimEnd().split('\n')) JSON.parse(line);
    tokens.add(token);
  }
  expect(tokens.size).toBe(2);
});

it('a start with a configuration reads .env, lets the environment win, and prints no secret', async () => {
  writeFileSync(
    folder.file('.env'),
    'ACCESS_TOKENS=from-file,also-from-file\nACCESS_TOKEN=mistyped\nLOG_LEVEL=nonsense\nDATABASE_URL=sqlite:deep/down/p.db\n',
  );
  const program = folder.start({ LOG_LEVEL: 'info', NODE_ENV: 'production', ...PROVIDER });
  expect(await program.create(1, 'n', 'from-file')).toBe(200);
  expect(existsSync(folder.file('deep/down/p.db'))).toBe(true);
  await program.printed(/"Settings from the environment, and from /);
  expect(await program.end()).toBe(0);
  for (const line of [
    'Accepting static tokens (2) and JWTs of the identity provider',
    `Storing in the SQLite file ${folder.file('deep/down/p.db')}`,
    `Settings from the environment, and from ${folder.file('.env')}`,
  ]) {
    expect(program.output).toContain(`"${line}"`);
  }
  const printed = program.output + program.errors;
  expect(printed).not.toMatch(/from-file|mistyped|id\.example|curl/);
});

it('a start with the entry that new-token prints accepts the token that it prints', async () => {
  const { output } = await folder.run('new-token', ['garden-app'], {});
  const [, token = ''] = /^For the client: +(\S+)$/m.exec(output) ?? [];
  const [, entry = ''] = /^For ACCESS_TOKENS: (\S+)$/m.exec(output) ?? [];
  expect(entry).toMatch(/^garden-app:sha256:[0-9a-f]{64}$/);
  const program = folder.start({ ACCESS_TOKENS: entry });
  expect(await program.create(1, 'n', token)).toBe(200);
  await program.printed(/"client":"garden-app"/);
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
  expect((await program.send('GET', '/docs')).status).toBe(200);
});

/** A start that cannot succeed, and what it prints: one line for each fault. */
interface Refusal {
  readonly what: string;
  readonly env?: Record<string, string>;
  readonly args?: string[];
  readonly prepare?: () => unknown;
  /** The beginnings of the lines, where `.` stands for the folder. */
  readonly lines: readonly string[];
}

const REFUSALS: readonly Refusal[] = [
  {
    what: 'wrong variables, and without a token',
    env: { PORT: 'x', HOST: '!', LOG_LEVEL: 'x', NODE_ENV: 'production', ACCESS_TOKENS: '' },
    lines: ['HOST must', 'PORT must', 'LOG_LEVEL must', 'ACCESS_TOKENS must hold a token'],
  },
  { what: 'an argument', args: ['--port=80'], lines: ['The program takes no arguments'] },
  {
    what: 'settings that cannot be read',
    prepare: () => mkdirSync(folder.file('.env')),
    lines: ['The settings in ./.env cannot be read: EISDIR'],
  },
  {
    what: 'a host name that is not known',
    env: { HOST: 'no.invalid' },
    lines: ['HOST is '],
  },
  {
    what: 'an address of another machine',
    env: { HOST: '192.0.2.1' },
    lines: ['HOST is not an address of this machine: 192.0.2.1'],
  },
  {
    what: 'a read-only folder of the store',
    prepare: () => chmodSync(folder.file('data'), 0o555),
    env: { DATABASE_URL: STORE },
    lines: [
      `The user with the id ${process.getuid?.()} cannot use the store: EACCES: permission denied, open './data/plants.db'`,
    ],
  },
];

describe('a start that cannot succeed exits 1, leaves no file, and names the fault:', () => {
  it.each(REFUSALS)('$what', async ({ env = {}, args = [], prepare, lines }) => {
    mkdirSync(folder.file('data'));
    await prepare?.();
    const before = listFiles();
    const all = { ACCESS_TOKENS: 't', DATABASE_URL: MEMORY, ...env };
    const program = Program.start(AS_ORDINARY_USER, folder.path, all, ...args);
    expect(await program.exited()).toBe(1);
    const printed = program.errors.replaceAll(folder.path, '.').trimEnd().split('\n');
    expect(printed).toEqual(lines.map((line) => expect.stringContaining(line)));
    expect(program.output).not.toContain('Listening');
    expect(listFiles()).toEqual(before);
    chmodSync(folder.file('data'), 0o755);
  });

  it('a port in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const PORT = String((other.address() as AddressInfo).port);
    const program = folder.serve({ PORT, DATABASE_URL: MEMORY });
    expect(await program.exited()).toBe(1);
    expect(program.errors).toContain(
      `Port ${PORT} of 127.0.0.1 is in use by another program: set PORT to`,
    );
    other.close();
  });
});

function listFiles(): string[] {
  return readdirSync(folder.path, { recursive: true, encoding: 'utf8' });
}

it('closed standard output costs lines and nothing else', async () => {
  const program = folder.serve();
  await program.listening();
  program.stopReading();
  for (const id of [1, 2, 3]) expect(await program.create(id)).toBe(200);
  expect(await program.end()).toBe(0);
});

it('a program that gets SIGTERM during its start exits 0 at once', async () => {
  const program = folder.serve(preload(SIGNAL_SOON));
  expect(await program.exited()).toBe(0);
  expect(program.output).not.toContain('Listening');
});

it('of three programs that start at once on one new file, one serves', async () => {
  const programs = [folder.serve(), folder.serve(), folder.serve()];
  await Promise.all(programs.map((one) => one.listening().catch(() => one.exited())));
  const refused = programs.filter(({ hasExited }) => hasExited);
  expect(refused.map(({ errors }) => errors)).toEqual([IN_USE, IN_USE]);
  const [serving] = programs.filter(({ hasExited }) => !hasExited);
  expect(await serving?.create(1)).toBe(200);
});

it('a program starts on the store of one that is about to end', async () => {
  const first = folder.serve();
  expect(await first.create(1)).toBe(200);
  const second = folder.serve();
  first.kill('SIGTERM');
  expect(await second.create(1)).toBe(40901);
});
