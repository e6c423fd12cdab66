import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  symlinkSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { promisify, stripVTControlCharacters } from 'node:util';
import { SqliteConnection } from '../../../packages/store/src/sqlite/sqlite-connection.js';
import { preload, Program, ProgramFolder, ROOT, runAfter } from '../../support/program.js';

const MEMORY = 'sqlite::memory:';
const STORE = 'sqlite:data/plants.db';
const PROVIDER = {
  AUTH_JWKS_URL: 'https://id.example/jwks',
  AUTH_ISSUER: 'https://id.example',
  AUTH_AUDIENCE: 'plants',
};
const ESC = '\u001B';
const TOKEN_FILE = 'data/development-token';
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

/** Uses a package of Nest that is not installed, as soon as the modules exist. */
const CONNECT_MICROSERVICE = `
   import { NestFactory } from '${import.meta.resolve('@nestjs/core')}';
   const { create } = NestFactory;
   NestFactory.create = async (...args) => {
     const app = await create.apply(NestFactory, args);
     return app.connectMicroservice({});
   };`;

/** Starts as a `main.ts` of Nest's documentation does. */
const CREATE_AS_NEST = `
   import { NestFactory } from '${import.meta.resolve('@nestjs/core')}';
   import { AppModule } from '${new URL('../../../dist/app.module.js', import.meta.url).href}';
   const app = await NestFactory.create(AppModule);
   await app.listen(0);`;

let folder: ProgramFolder;

beforeEach(async () => {
  folder = await ProgramFolder.create();
});
afterEach(() => folder.remove());

it('a start without any configuration prints a curl with its token, which it keeps in a private file', async () => {
  const tokens = new Set<string>();
  for (let start = 0; start < 2; start++) {
    const program = folder.start();
    const [curl] = await program.printed(/^curl .*$/m, 'errors');
    const [, token = ''] = /Bearer ([^']+)'/.exec(curl) ?? [];
    const { stdout } = await promisify(execFile)('sh', ['-c', `${curl} -s`]);
    expect(stdout).toBe('{"name":"Monstera","tag":"indoor"}\n');
    expect(statSync(folder.file(TOKEN_FILE)).mode & 0o777).toBe(0o600);
    expect(await program.end('SIGINT')).toBe(0);
    const url = await program.listening();
    const lines = [
      '',
      `  API    ${url}`,
      `  Docs   ${url}/docs#token=${token}`,
      `  Token  ${token}`,
      '  Store  data/plants.db',
      '',
      curl,
    ];
    expect(program.errors.trimEnd().split('\n')).toEqual(lines);
    expect(program.output).not.toContain(token);
    expect(program.output.includes('"Created the store data/plants.db"')).toBe(start === 0);
    // Readers of the log expect only JSON.
    for (const line of program.output.trimEnd().split('\n')) JSON.parse(line);
    tokens.add(token);
    // Another user may have been able to read it.
    chmodSync(folder.file(TOKEN_FILE), 0o644);
  }
  expect(tokens.size).toBe(1);
});

it('the token of development is that of its file or of DEVELOPMENT_TOKEN, and never that of production', async () => {
  const create = async (env: Record<string, string>, token: string): Promise<number> => {
    const program = folder.start({ DATABASE_URL: MEMORY, ...env });
    const status = await program.create(1, 'n', token);
    await program.end();
    return status;
  };
  mkdirSync(folder.file('data'));
  writeFileSync(folder.file(TOKEN_FILE), 'of-the-file');
  expect(await create({}, 'of-the-file')).toBe(200);
  expect(await create({ DEVELOPMENT_TOKEN: 'other' }, 'of-the-file')).toBe(40101);
  expect(await create({ DEVELOPMENT_TOKEN: 'other' }, 'other')).toBe(200);
  const ACCESS_TOKENS = 'configured';
  expect(await create({ ACCESS_TOKENS }, 'of-the-file')).toBe(40101);
  expect(await create({ ACCESS_TOKENS, NODE_ENV: 'production' }, 'of-the-file')).toBe(40101);
  writeFileSync(folder.file(TOKEN_FILE), ' ');
  expect(await create({}, 'of-the-file')).toBe(40101);
  expect(readFileSync(folder.file(TOKEN_FILE), 'utf8')).toMatch(/^[\w-]{43}\n$/);
});

it('npm run demo imports fifty plants, and again none', async () => {
  const program = folder.start();
  const url = await program.listening();
  const demo = async (): Promise<string> => {
    const script = new URL('../../../scripts/demo.mjs', import.meta.url).pathname;
    return (await promisify(execFile)(process.execPath, [script, url], { cwd: folder.path }))
      .stdout;
  };
  const shown = await demo();
  expect(shown).toMatch(/^50 plants are new, 0 were there already, 0 were refused\.$/m);
  expect(await demo()).toMatch(/^0 plants are new, 50 were there already, 0 were refused\.$/m);
  const [curl = ''] = /^curl .*$/m.exec(shown) ?? [];
  const { stdout } = await promisify(execFile)('sh', ['-c', `${curl} -s`]);
  expect((JSON.parse(stdout) as object[]).length).toBe(4);
});

it('a path that is none gets the paths that there are, in development', async () => {
  const program = folder.serve();
  const { code, text } = await program.send('GET', '/api');
  expect(code).toBe(40400);
  expect(text).toMatch(/There is nothing at this path\. There are .*\/docs, .*\/plants\/\{id\}/);
  const other = folder.serve({ NODE_ENV: 'production', DATABASE_URL: MEMORY });
  expect((await other.send('GET', '/api')).text).toContain('"There is nothing at this path"');
});

it('a start warns of a limit of open files that is too low for MAX_CONNECTIONS', async () => {
  const limited = ['sh', '-c', 'ulimit -n 2000; exec "$@"', 'sh'];
  const start = async (env: Record<string, string>): Promise<string> => {
    const program = folder.startWith(limited, { ...env, DATABASE_URL: MEMORY });
    await program.listening();
    await program.end();
    return program.output;
  };
  const warning = 'The system allows 2000 open files, and MAX_CONNECTIONS=10000 needs 11100';
  expect(await start({})).toContain(warning);
  expect(await start({ MAX_CONNECTIONS: '900' })).not.toContain('open files');
});

it('a start in a folder that it may not write makes a token for this run', async () => {
  mkdirSync(folder.file('data'), 0o555);
  const program = folder.startWith(AS_ORDINARY_USER, { DATABASE_URL: MEMORY });
  await program.printed(/^curl .*Bearer [\w-]{43}'/m, 'errors');
  expect(await program.end()).toBe(0);
  chmodSync(folder.file('data'), 0o755);
});

describe('at a terminal', () => {
  /** Runs the program in a pseudo terminal. */
  const start = (env: Record<string, string> = {}): Program =>
    folder.startWith(['sh', '-c', 'exec script -qefc "$*" /dev/null', 'sh'], env);

  it('the log is text with colours, and the last lines are those to use', async () => {
    const program = start({ TERM: 'xterm' });
    const [, url = '', token = ''] = await program.printed(/API +(\S+)[^]*Token +(\S+)/);
    await program.printed(/^curl .*\s+$/m);
    const [, first = ''] = /^(.*)\r\n/.exec(program.output) ?? [];
    expect(first).toContain(`${ESC}[32mINFO `);
    expect(stripVTControlCharacters(first)).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO {2}Main Created the store data\/plants\.db$/,
    );
    expect(program.output).not.toMatch(/^\{|Listening|Migrat/m);
    const headers = { Authorization: `Bearer ${token}` };
    await fetch(`${url}/plants/x`, { headers });
    await program.printed(/ GET \/plants\/x 400 \d+ ms.*error=40003/);
    await program.end();
  });

  it('NO_COLOR takes the colours away, and configured tokens are not printed', async () => {
    const program = start({ TERM: 'xterm', NO_COLOR: '1', ACCESS_TOKENS: 'configured' });
    await program.printed(/Token {2}static tokens \(1\)\r\n.*Store .*\r\n/);
    expect(program.output).not.toContain(ESC);
    expect(program.output).not.toMatch(/configured|curl/);
    await program.end();
  });

  it('production writes JSON', async () => {
    const program = start({ NODE_ENV: 'production', ACCESS_TOKENS: 'configured' });
    await program.printed(/"Settings from the environment"/);
    const lines = program.output
      .trimEnd()
      .split('\r\n')
      .map((line) => JSON.parse(line) as object);
    const msg = 'There was no store: created a new, empty one, data/plants.db';
    expect(lines).toContainEqual(expect.objectContaining({ level: 40, msg }));
    await program.end();
  });
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

it('a .env from an editor of Windows, with a byte order mark and an indented line, is read whole', async () => {
  writeFileSync(
    folder.file('.env'),
    '\uFEFFNODE_ENV=production\r\n \r\n  # Tokens\r\nACCESS_TOKENS=from-file\r\n',
  );
  const program = folder.start();
  expect(await program.create(1, 'n', 'from-file')).toBe(200);
  expect(program.errors).toBe('');
});

it('--help prints every setting with its default', async () => {
  const program = folder.start({}, '--help');
  expect(await program.exited()).toBe(0);
  expect(program.output).toMatch(/^# PORT must be .*\nPORT=3000$/m);
  expect(program.output).toMatch(/^ACCESS_TOKENS=$/m);
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
  /** Commands of a shell before the start, whose mounts only it sees. */
  readonly after?: string;
  /** The beginnings of the lines, where `.` stands for the folder. */
  readonly lines: readonly string[];
}

const REFUSALS: readonly Refusal[] = [
  {
    what: 'wrong variables, and without a token',
    env: { PORT: 'x', HOST: '!', LOG_LEVEL: 'x', NODE_ENV: 'production', ACCESS_TOKENS: '' },
    lines: ['HOST must', 'PORT must', 'LOG_LEVEL must', 'ACCESS_TOKENS must hold a token'],
  },
  {
    what: 'a wait for the store with which the times that follow from it would be out of order',
    env: { STORE_TIMEOUT_MS: '60000' },
    lines: ['STORE_TIMEOUT_MS must be a whole number from 1000 to 20000'],
  },
  {
    what: 'more readers of pages than threads',
    env: { FILE_PAGE_READERS: '2' },
    lines: [
      'FILE_PAGE_READERS=2 needs 5 threads, and Node has 4: lower it, or set UV_THREADPOOL_SIZE=5',
    ],
  },
  {
    what: 'threads for readers of pages in .env, which Node does not read',
    prepare: () => writeFileSync(folder.file('.env'), 'UV_THREADPOOL_SIZE=8\n'),
    env: { FILE_PAGE_READERS: '5' },
    lines: ['FILE_PAGE_READERS=5 needs 8 threads, and Node has 4'],
  },
  { what: 'an argument', args: ['--port=80'], lines: ['The program takes no arguments but'] },
  {
    what: 'settings that cannot be read',
    prepare: () => mkdirSync(folder.file('.env')),
    lines: ['The settings in ./.env cannot be read: EISDIR'],
  },
  {
    what: 'a line in .env that other programs would read differently',
    prepare: () => writeFileSync(folder.file('.env'), 'PORT=0\n\nNODE_ENV: production\n'),
    lines: ['Line 3 of ./.env is not NAME=value'],
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
  {
    what: 'a folder in the place of the store',
    env: { DATABASE_URL: 'sqlite:data' },
    lines: [
      `The user with the id ${process.getuid?.()} cannot use the store: ./data is not an ordinary file`,
    ],
  },
  {
    what: 'a named pipe in the place of the store',
    prepare: () => execFileSync('mkfifo', [folder.file('pipe')]),
    env: { DATABASE_URL: 'sqlite:pipe' },
    lines: [
      `The user with the id ${process.getuid?.()} cannot use the store: ./pipe is not an ordinary file`,
    ],
  },
  {
    what: 'a named pipe in the place of the lock',
    prepare: () => {
      writeFileSync(folder.file('data/plants.db'), '');
      execFileSync('mkfifo', [folder.file('data/plants.db-lock')]);
    },
    env: { DATABASE_URL: STORE },
    lines: ['cannot use the store: ./data/plants.db-lock is not an ordinary file'],
  },
  ...['', '-wal', '-shm', '-lock'].map((suffix) => ({
    what: `a store whose file plants.db${suffix} is mounted alone`,
    prepare: () => {
      for (const name of ['mounted.db', 'data/plants.db', `data/plants.db${suffix}`]) {
        writeFileSync(folder.file(name), '');
      }
    },
    after: `mount --bind mounted.db data/plants.db${suffix}`,
    env: { DATABASE_URL: STORE },
    lines: [
      `./data/plants.db${suffix} is itself a mount point, so the files of the store would lie in different folders: mount a folder, and name a file in it`,
    ],
  })),
  {
    what: 'a mounted file behind links to it and to its folder, with a blank in its name',
    prepare: () => {
      mkdirSync(folder.file('my data'));
      for (const name of ['mounted.db', 'my data/plants.db']) writeFileSync(folder.file(name), '');
      symlinkSync('my data', folder.file('linked'));
      symlinkSync('linked/plants.db', folder.file('plants.db'));
    },
    after: `mount --bind mounted.db 'my data/plants.db'`,
    env: { DATABASE_URL: 'sqlite:plants.db' },
    lines: ['./my data/plants.db is itself a mount point'],
  },
  {
    what: 'a folder that a container has mounted for a missing file',
    prepare: () => mkdirSync(folder.file('data/plants.db')),
    after: 'mount -t tmpfs none data/plants.db',
    env: { DATABASE_URL: STORE },
    lines: ['./data/plants.db is itself a mount point'],
  },
  {
    what: 'a full disk',
    after: 'mount -t tmpfs -o size=8k none data',
    env: { DATABASE_URL: STORE },
    // By how much fits on it, SQLite reports that it is full, or that a file cannot be extended.
    lines: ['The store cannot be used, the SQLite file ./data/plants.db: SQLITE_'],
  },
  {
    what: 'a store in memory without a folder for its file',
    env: { TMPDIR: 'none' },
    lines: [
      "TMPDIR does not name one that can be written: ENOENT: no such file or directory, mkdtemp 'no",
    ],
  },
  {
    what: 'a missing binary of sqlite3',
    after: `mount -t tmpfs none ${ROOT}node_modules/sqlite3/build`,
    lines: [
      'The package sqlite3 cannot be loaded: install the packages on this system with npm ci, without --ignore-scripts (Could not locate the bindings file)',
    ],
  },
  {
    what: 'a binary of sqlite3 for another system',
    after: `mount --bind package.json ${ROOT}node_modules/sqlite3/build/Release/node_sqlite3.node`,
    prepare: () => writeFileSync(folder.file('package.json'), '{}'),
    lines: [
      'without --ignore-scripts (./node_modules/sqlite3/build/Release/node_sqlite3.node: file',
    ],
  },
  {
    what: 'PostgreSQL that cannot be reached, without a binary of sqlite3',
    after: `mount -t tmpfs none ${ROOT}node_modules/sqlite3/build`,
    env: { DATABASE_URL: 'postgres://me@127.0.0.1:1/plants' },
    lines: [
      'The store cannot be used, the PostgreSQL database plants at 127.0.0.1:1 as the user me: ',
    ],
  },
  {
    what: 'a part of the build',
    after: `mount -t tmpfs none ${ROOT}dist/modules`,
    // The first module that the application imports, which may be one of a team.
    lines: ["The service cannot start: Cannot find module './dist/modules/"],
  },
  {
    what: 'a file of the build that ends too early',
    prepare: () => writeFileSync(folder.file('short.js'), 'export class PlantsModule {'),
    after: `mount --bind short.js ${ROOT}dist/modules/plants/plants.module.js`,
    lines: [
      'The service cannot start: Unexpected end of input: install the packages with npm ci, and',
    ],
  },
];

describe('a start that cannot succeed exits 1, leaves no file, and names the fault:', () => {
  it.each(REFUSALS)('$what', async ({ env = {}, args = [], prepare, after, lines }) => {
    mkdirSync(folder.file('data'));
    await prepare?.();
    const before = listFiles();
    const all = { ACCESS_TOKENS: 't', DATABASE_URL: MEMORY, ...env };
    const tracer = after === undefined ? AS_ORDINARY_USER : runAfter(after);
    const program = folder.startWith(tracer, all, ...args);
    expect(await program.exited()).toBe(1);
    const printed = shortenPaths(program.errors).trimEnd().split('\n');
    expect(printed).toEqual(lines.map((line) => expect.stringContaining(line)));
    expect(program.output).not.toContain('Listening');
    // The error is printed once.
    expect(program.output).not.toContain('"level":50');
    expect(listFiles()).toEqual(before);
    chmodSync(folder.file('data'), 0o755);
  });

  it('its log has the lines before the fault', async () => {
    // However slow this machine is, the program ends before the log writes by itself.
    const slow = preload('const later=setTimeout;setTimeout=(act,ms)=>later(act,1e3*ms)');
    const env = {
      NODE_ENV: 'production',
      ACCESS_TOKENS: 'short',
      DATABASE_URL: 'sqlite:/proc/x/y',
    };
    const program = folder.serve({ ...slow, ...env });
    expect(await program.exited()).toBe(1);
    expect(program.output).toContain('Configured tokens with fewer than');
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

/** Every program of the build, with its arguments. */
const PROGRAMS: readonly (readonly [command: string, ...args: string[]])[] = [
  ['../main'],
  ['db-backup', 'copy.db'],
  ['db-check'],
  ['db-copy', 'sqlite:copy.db'],
  ['new-token'],
];

const TOO_FEW_FILES = (allowed: number): string =>
  `The system allows ${allowed} open files, and this program needs 1024 to start: raise the limit (ulimit -n, LimitNOFILE)`;

it.each<readonly [what: string, line: string, after: string, env?: Record<string, string>]>([
  ['may open 64 files', TOO_FEW_FILES(64), 'ulimit -n 64'],
  ['may open 256 files', TOO_FEW_FILES(256), 'ulimit -n 256'],
  ['may open 1023 files', TOO_FEW_FILES(1023), 'ulimit -n 1023'],
  [
    'runs on an old Node',
    'Node 20.9.0 is too old: install Node 20.19 or newer',
    '',
    preload(`Object.defineProperty(process, 'versions', { value: { node: '20.9.0' } })`),
  ],
  [
    'runs in a folder that was removed',
    'The current folder was removed: start the program in another one',
    'mkdir gone; cd gone; rmdir ../gone',
  ],
  [
    'lacks a package',
    "The start failed: Cannot find package './node_modules/pino/index.js' imported from ./packages/platform/dist/observability/pino-logger.js: install the packages with npm ci, and build with npm run build",
    `mount -t tmpfs none ${ROOT}node_modules/pino`,
  ],
  [
    'lacks a file of a package',
    "The start failed: Cannot find module './lib/express': install the packages with npm ci, and build with npm run build",
    `mount -t tmpfs none ${ROOT}node_modules/express/lib`,
  ],
  [
    'cannot read its settings',
    'The settings in ./.env cannot be read: EISDIR: illegal operation on a directory, read',
    'mkdir -p .env',
  ],
])('every program that %s exits 1 with one line: %s', async (_, line, after, env = {}) => {
  for (const [command, ...args] of PROGRAMS) {
    const all = { DATABASE_URL: STORE, ...env };
    const ended = await folder.run(command, args, all, runAfter(after));
    const errors = shortenPaths(ended.errors);
    expect({ command, ...ended, errors }).toEqual({
      command,
      exitCode: 1,
      output: '',
      errors: `${line}\n`,
    });
  }
});

it('a store in a folder that is mounted is used, also by the commands', async () => {
  mkdirSync(folder.file('data'));
  mkdirSync(folder.file('volume'));
  const tracer = runAfter('mount --bind volume data');
  const program = folder.startWith(tracer, { ACCESS_TOKENS: 'configured', DATABASE_URL: STORE });
  expect(await program.create(1, 'n', 'configured')).toBe(200);
  const backup = await folder.run('db-backup', ['copy.db'], { DATABASE_URL: STORE }, tracer);
  expect(backup).toMatchObject({ exitCode: 0 });
});

it('every program starts if it may open 1024 files', async () => {
  const tracer = runAfter('ulimit -n 1024');
  const program = folder.startWith(tracer, { ACCESS_TOKENS: 'configured', DATABASE_URL: STORE });
  expect(await program.create(1, 'n', 'configured')).toBe(200);
  for (const [command, ...args] of PROGRAMS.slice(1)) {
    const env = { DATABASE_URL: command === 'db-copy' ? 'sqlite:other.db' : STORE };
    expect(await folder.run(command, args, env, tracer)).toMatchObject({ exitCode: 0, errors: '' });
  }
});

/** Replaces the folder of the test, and of the build, by a dot. */
function shortenPaths(text: string): string {
  return text.replaceAll(folder.path, '.').replaceAll(ROOT, './');
}

function listFiles(): string[] {
  return readdirSync(folder.path, { recursive: true, encoding: 'utf8' });
}

it('a start waits until another process lets go the lock of the store', async () => {
  const first = folder.serve({ DATABASE_URL: STORE });
  await first.listening();
  await first.end();
  const neighbour = await SqliteConnection.open(folder.file('data/plants.db'), 'BEGIN IMMEDIATE');
  const program = folder.serve({ DATABASE_URL: STORE });
  await program.printed(/Waiting for another process, which has locked the SQLite file/);
  await neighbour.close();
  expect(await program.create(1)).toBe(200);
});

it('closed standard output costs lines and nothing else', async () => {
  const program = folder.serve();
  await program.listening();
  program.stopReading();
  for (const id of [1, 2, 3]) expect(await program.create(id)).toBe(200);
  expect(await program.end()).toBe(0);
});

it('a package that a module lacks is named, also while the application is made', async () => {
  const program = folder.serve(preload(CONNECT_MICROSERVICE));
  expect(await program.exited()).toBe(1);
  expect(program.output).toContain('@nestjs/microservices');
});

it('a main.ts of Nest is told to call createApplication() in its last line', async () => {
  const program = folder.serve(preload(CREATE_AS_NEST));
  expect(await program.exited()).toBe(1);
  const [last] = program.errors.trimEnd().split('\n').slice(-1);
  expect(last).toMatch(
    /^NestFactory\.create\(\) has made this application .* express: write createApplication\(AppModule\)/,
  );
});

const ENDED_EARLY = 'a module has called process.exit(), or waits for something that never happens';

it.each([
  ['process.exit(0)', ENDED_EARLY],
  ['await new Promise(() => undefined)', ENDED_EARLY],
  ["throw 'a text'", 'a text'],
  ['throw undefined', 'undefined'],
])('a start that ends by %s says why', async (statement, reason) => {
  const script = `
   import { NestFactory } from '${import.meta.resolve('@nestjs/core')}';
   NestFactory.create = async () => { ${statement}; };`;
  const program = folder.serve(preload(script));
  expect(await program.exited()).toBe(1);
  expect(program.errors).toBe(`The service cannot start: ${reason}\n`);
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
