import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import { DataSource } from 'typeorm';
import type { Program } from '../support/program.js';
import { ProgramFolder } from '../support/program-folder.js';

/** Sends SIGTERM when the store is about to be opened. */
const SIGNAL_SOON = encodeURIComponent(
  `import fs from 'node:fs/promises'; const { mkdir } = fs;
   fs.mkdir = (...args) => { process.kill(process.pid, 'SIGTERM'); return mkdir(...args); };`,
);

let folder: ProgramFolder;
let program: Program;

beforeEach(async () => {
  folder = await ProgramFolder.create();
});

afterEach(() => folder.remove());

function start(env: Record<string, string> = {}): Program {
  program = folder.start(env);
  return program;
}

async function query(sql: string): Promise<unknown> {
  const dataSource = new DataSource({ type: 'sqlite', database: folder.file('data/plants.db') });
  await dataSource.initialize();
  try {
    return await dataSource.query(sql);
  } finally {
    await dataSource.destroy();
  }
}

async function createPlant(url: string, token: string, id: number): Promise<Response> {
  return await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ id, name: 'Monstera' }),
  });
}

describe('a start without any configuration', () => {
  it('prints a curl that creates a plant when pasted, at every start', async () => {
    for (const plants of [1, 2]) {
      const [curl] = await start().printed(/^curl .*$/m);
      const { stdout } = await promisify(execFile)('sh', ['-c', `${curl} -s`]);
      expect(JSON.parse(stdout)).toEqual({ name: 'Monstera', tag: 'indoor' });
      program.kill('SIGTERM');
      expect(await program.exited()).toBe(0);
      expect(await query('SELECT count(*) AS plants FROM plants')).toEqual([{ plants }]);
    }
  });

  it('prints its token once, and a different one at every start', async () => {
    const tokens = new Set<string>();
    for (let round = 0; round < 2; round++) {
      const { 1: token = '' } = await start().printed(/Bearer ([^']+)'/);
      await program.listening();
      program.kill('SIGINT');
      await program.exited();
      expect(program.output.split(token)).toHaveLength(2);
      tokens.add(token);
    }
    expect(tokens.size).toBe(2);
  });
});

describe('a start with a configuration', () => {
  it('reads .env, and lets the real environment win', async () => {
    await writeFile(folder.file('.env'), 'ACCESS_TOKENS=from-file\nLOG_LEVEL=nonsense\n');
    const url = await start({ LOG_LEVEL: 'info' }).listening();
    expect((await createPlant(url, 'from-file', 1)).status).toBe(200);
    expect(program.output).not.toContain('from-file');
  });

  it('says which kinds of tokens it takes, and no value', async () => {
    const provider = {
      AUTH_JWKS_URL: 'https://id.example/jwks',
      AUTH_ISSUER: 'https://id.example',
      AUTH_AUDIENCE: 'plants',
    };
    await start({ ACCESS_TOKENS: 'first,second', ...provider }).printed(
      /"Accepting static tokens \(2\) and JWTs of the identity provider"/,
    );
    expect(program.output).not.toMatch(/first|second|id\.example/);
  });

  it('in production takes an identity provider for tokens', async () => {
    const AUTH_JWKS_URL = 'https://id.example/jwks';
    const rest = { AUTH_ISSUER: 'https://id.example', AUTH_AUDIENCE: 'plants' };
    await start({ NODE_ENV: 'production', AUTH_JWKS_URL, ...rest }).printed(
      /"Accepting JWTs of the identity provider"/,
    );
    expect(program.output).not.toContain('curl');
  });

  it('takes the data folder that DATABASE_URL names, and makes it', async () => {
    await start({ DATABASE_URL: 'sqlite:deep/down/p.db', ACCESS_TOKENS: 't' }).listening();
    expect(existsSync(folder.file('deep/down/p.db'))).toBe(true);
  });
});

describe('a start that cannot succeed exits 1 with one line for each fault', () => {
  async function expectRefusal(env: Record<string, string>, ...lines: RegExp[]): Promise<void> {
    const began = performance.now();
    expect(await start(env).exited()).toBe(1);
    // Nest's TypeORM module would try for 27 s; a busy machine may take seconds for one attempt.
    expect(performance.now() - began).toBeLessThan(15_000);
    const printed = program.errors.trimEnd().split('\n');
    expect(printed).toEqual(lines.map((line) => expect.stringMatching(line)));
    expect(program.output).toBe('');
  }

  it('with several wrong variables', async () => {
    const env = { PORT: 'x', HOST: '!', LOG_LEVEL: 'x' };
    await expectRefusal(env, /^HOST must/, /^PORT must/, /^LOG_LEVEL must/);
  });

  it('in production without a token', async () => {
    await expectRefusal({ NODE_ENV: 'production' }, /^ACCESS_TOKENS must hold a token/);
  });

  it('with an argument', async () => {
    program = folder.start({}, '--port=80');
    expect(await program.exited()).toBe(1);
    expect(program.errors).toBe('The program takes no arguments\n');
  });

  it('on a file that is not a database', async () => {
    await writeFile(folder.file('p.db'), 'not a database\n'.repeat(1_000));
    await expectRefusal({ DATABASE_URL: 'sqlite:p.db' }, /is not a SQLite database$/);
  });

  it('on a folder in the place of a database', async () => {
    await expectRefusal({ DATABASE_URL: `sqlite:${folder.path}` }, /cannot be opened or created$/);
  });

  it('on a database that a newer version has made', async () => {
    await start().listening();
    program.kill('SIGTERM');
    await program.exited();
    await query(
      "INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later9999999999999')",
    );
    await expectRefusal({}, /newer than this program/);
  });

  it('on a database with tables of another program', async () => {
    await start().listening();
    program.kill('SIGTERM');
    await program.exited();
    await query('DELETE FROM migrations');
    await expectRefusal({}, /its schema is not one that this program made$/);
  });

  it('on a port in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const PORT = String((other.address() as AddressInfo).port);
    await expectRefusal({ PORT, ACCESS_TOKENS: 't' }, /^The port is in use/);
    other.close();
  });

  it('on an address of another machine', async () => {
    await expectRefusal({ HOST: '192.0.2.1', ACCESS_TOKENS: 't' }, /^HOST is not an address/);
  });
});

describe('stopping', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('on %s exits 0 and closes the port', async (signal) => {
    const url = await start({ ACCESS_TOKENS: 't' }).listening();
    expect((await createPlant(url, 't', 1)).status).toBe(200);
    program.kill(signal);
    expect(await program.exited()).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
  });

  it('while it is starting exits 0 at once', async () => {
    start({ ACCESS_TOKENS: 't', NODE_OPTIONS: `--import data:text/javascript,${SIGNAL_SOON}` });
    expect(await program.exited()).toBe(0);
    expect(program.output).not.toContain('Listening');
  });

  it('takes signals that follow within a second for one', async () => {
    await start({ ACCESS_TOKENS: 't' }).listening();
    for (let round = 0; round < 3; round++) program.kill('SIGINT');
    expect(await program.exited()).toBe(0);
  });

  it('under load exits 0 soon, and has stored what it acknowledged', async () => {
    const url = await start({ ACCESS_TOKENS: 't' }).listening();
    let lastId = 0;
    let acknowledged = 0;
    const client = async (): Promise<void> => {
      for (;;) {
        const { ok } = await createPlant(url, 't', ++lastId);
        if (ok) acknowledged++;
        if (acknowledged === 200) program.kill('SIGTERM');
      }
    };
    const clients = Promise.allSettled(Array.from({ length: 16 }, client));
    expect(await program.exited()).toBe(0);
    await clients;
    expect(acknowledged).toBeGreaterThanOrEqual(200);
    const [row] = (await query('SELECT count(*) AS plants FROM plants')) as { plants: number }[];
    expect(row?.plants).toBeGreaterThanOrEqual(acknowledged);
  });
});
