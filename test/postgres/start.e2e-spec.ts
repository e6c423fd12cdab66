import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { DatabaseStartError } from '../../packages/store/src/errors/store.errors.js';
import { TimeLimits } from '../../packages/store/src/engine/time-limits.js';
import { schema } from '../fixtures/schema.js';
import { createDataSourceOptions } from 'durable-rest/program';
import { openDatabase } from '../../packages/store/src/open/open-database.js';
import { PostgresServer } from '../../packages/platform/src/testing/postgres-server.js';
import { openStore } from '../support/store.js';
import { until } from 'durable-rest/testing';

const PASSWORD = 'well-kept-secret';
const TRUST = 'host all all 127.0.0.1/32 trust';

const certificate = (name: string): string =>
  fileURLToPath(new URL(`certificates/${name}`, import.meta.url));
const OURS = certificate('server.crt');

let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.start({
    'pg_hba.conf': `host all careful 127.0.0.1/32 scram-sha-256\n${TRUST}\n`,
    'postgresql.auto.conf': 'ssl = on\n',
    'server.crt': await readFile(OURS),
    'server.key': await readFile(certificate('server.key')),
  });
  await execute('postgres', [
    `CREATE ROLE careful LOGIN PASSWORD '${PASSWORD}'`,
    'CREATE DATABASE plants OWNER careful',
    'CREATE DATABASE careless',
    'CREATE DATABASE gardens',
    'CREATE DATABASE moved',
    'CREATE ROLE limited LOGIN CONNECTION LIMIT 4',
    'CREATE DATABASE latin ENCODING LATIN1 TEMPLATE template0',
  ]);
  await execute('moved', ['GRANT ALL ON SCHEMA public TO careful']);
  await (await openStore(server.url('moved'))).destroy();
});
afterAll(() => server.remove());

async function execute(database: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client(server.url(database));
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

function url(changes: Partial<URL> = {}, parameters: Record<string, string> = {}): string {
  const made = Object.assign(new URL(server.url('plants')), {
    username: 'careful',
    password: PASSWORD,
    ...changes,
  });
  for (const [name, value] of Object.entries(parameters)) made.searchParams.set(name, value);
  return made.href;
}

/** Executes a statement on a connection of the program, and resolves with the first row. */
async function ask(databaseUrl: string, sql: string, env = {}): Promise<unknown> {
  const dataSource = await openStore(databaseUrl, schema, undefined, env);
  try {
    return (await dataSource.query<unknown[]>(sql))[0];
  } finally {
    await dataSource.destroy();
  }
}

describe('a store that cannot be used', () => {
  const SSL = { sslmode: 'verify-full', sslrootcert: OURS };
  it.each<[string, () => string, RegExp]>([
    [
      'another password',
      () => url({ password: 'other' }),
      /password authentication failed for user "careful"$/,
    ],
    ['no password', () => url({ password: '' }), /^The server wants a password, and DATABASE_URL /],
    [
      'tables of another role',
      () => url({ pathname: '/moved' }),
      /^The tables in .* belong to the role postgres: connect as this role, or give them to yours/,
    ],
    [
      'nothing at the port',
      () => url({ port: '1' }),
      /127\.0\.0\.1:1 as the user careful: connect ECONNREFUSED 127\.0\.0\.1:1$/,
    ],
    ['another encoding', () => server.url('latin'), /must be in UTF8/],
    ['a certificate for another host', () => url({}, SSL), /does not match certificate's altnames/],
  ])('is distinguished from others: %s', async (_, databaseUrl, line) => {
    const failure: unknown = await openStore(databaseUrl()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(DatabaseStartError);
    const { message } = failure as DatabaseStartError;
    expect(message).toMatch(line);
    expect(message).not.toMatch(/\n|well-kept/);
  });
});

describe('a schema', () => {
  it.each([
    ['mygarden', true],
    ['MyGarden', true],
    ['My Garden', true],
    // TypeORM takes the dot for the one between a schema and a table.
    ['a."b', false],
  ])('may be named %s', async (name, isReadByTypeorm) => {
    const quoted = `"${name.replaceAll('"', '""')}"`;
    await execute('gardens', [
      `CREATE SCHEMA ${quoted}`,
      `ALTER DATABASE gardens SET search_path = ${quoted}`,
    ]);
    const env = { DATABASE_URL: server.url('gardens'), DATABASE_POOL_SIZE: 1 };
    for (const CHANGE_FEED of ['on', 'off'] as const) {
      const options = createDataSourceOptions({ ...env, CHANGE_FEED }, schema);
      const dataSource = await openDatabase({ ...options, logger: 'debug' });
      const sql = `SELECT indexname AS name FROM pg_indexes WHERE schemaname = $1 AND tablename = 'plants'`;
      const indexes = await dataSource.query<{ name: string }[]>(sql, [name]);
      const names = indexes.map((index) => index.name);
      const hasBoth = names.includes('plants_name') && names.includes('plants_tag');
      const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
      expect({ CHANGE_FEED, hasBoth, isReadByTypeorm: upQueries.length === 0 }).toEqual({
        CHANGE_FEED,
        hasBoth: true,
        isReadByTypeorm,
      });
      await dataSource.destroy();
    }
  });
});

it('a start that finds nothing to upgrade keeps no other one waiting', async () => {
  const databaseUrl = server.url('gardens');
  await (await openStore(databaseUrl)).destroy();
  const dataSource = await openStore(databaseUrl);
  // The server ends a closed connection, and with it the lock, a moment later.
  await until(async () => {
    const locks = await dataSource.query<object[]>(
      "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'",
    );
    return locks.length === 0;
  });
  await dataSource.destroy();
});

describe('the log of a start', () => {
  let lines: string[];

  beforeEach(() => {
    lines = [];
    const record = (line: string): unknown => lines.push(line);
    Logger.overrideLogger({ log: record, warn: record, error: record });
  });
  afterEach(() => {
    Logger.overrideLogger(false);
  });

  it('names the process that it waits for while another program upgrades the schema', async () => {
    const other = new pg.Client(server.url('careless'));
    await other.connect();
    const { rows } = await other.query<{ pid: number }>(
      'SELECT pg_advisory_lock(7252614403911), pg_backend_pid() AS pid',
    );
    const opening = openStore(server.url('careless'));
    await until(() => lines.length > 0);
    await other.end();
    await (await opening).destroy();
    const line = `Waiting for another program, which upgrades the schema: server process ${rows[0]?.pid}`;
    expect(lines).toEqual([line]);
  });

  it.each([
    ['postgres', []],
    [
      'limited',
      [
        'The server allows 4 connections, and this program opens up to 5, so requests may get 503: allow more, or lower DATABASE_POOL_SIZE',
      ],
    ],
  ])('warns of too few connections for the role %s', async (username, warnings) => {
    const databaseUrl = Object.assign(new URL(server.url('gardens')), { username });
    await execute('gardens', [
      `CREATE SCHEMA IF NOT EXISTS ${username}_own AUTHORIZATION ${username}`,
      `ALTER ROLE ${username} IN DATABASE gardens SET search_path = ${username}_own`,
    ]);
    await (await openStore(databaseUrl.href)).destroy();
    expect(lines).toEqual(warnings);
  });
});

describe('a connection', () => {
  it.each([
    ['disable', '127.0.0.1', false],
    ['require', '127.0.0.1', true],
    ['verify-ca', '127.0.0.1', true],
    ['verify-full', 'localhost', true],
  ])('with sslmode=%s to %s is encrypted: %s', async (sslmode, hostname, ssl) => {
    const root = sslmode.startsWith('verify') && { sslrootcert: OURS };
    const sql = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
    expect(await ask(url({ hostname }, { sslmode, ...root }), sql)).toEqual({ ssl });
  });

  it('is set up as the program needs it, whatever the defaults of its database are', async () => {
    const defaults = {
      synchronous_commit: 'off',
      statement_timeout: '0',
      default_transaction_isolation: 'serializable',
      datestyle: 'SQL, DMY',
    };
    const settings = Object.entries(defaults).map(
      ([name, value]) => `ALTER DATABASE careless SET ${name} = '${value}'`,
    );
    await execute('careless', settings);
    const sql = `SELECT current_setting('synchronous_commit') AS flush,
                        current_setting('statement_timeout') AS limit,
                        current_setting('transaction_isolation') AS isolation,
                        '02-03-04'::date AS day, '2024-02-03T04:05:06Z'::timestamptz AS moment,
                        '2024-02-03'::date::text AS key`;
    expect(await ask(server.url('careless'), sql)).toEqual({
      flush: 'on',
      limit: `${new TimeLimits().statementMs / 1_000}s`,
      isolation: 'read committed',
      day: '2002-03-04',
      moment: '2024-02-03T04:05:06.000Z',
      key: '2024-02-03',
    });
  });

  it.each([
    [1_000, '800ms'],
    [1_234, '987ms'],
    [20_000, '16s'],
  ])('with STORE_TIMEOUT_MS=%d aborts a statement after %s', async (STORE_TIMEOUT_MS, limit) => {
    const sql = `SELECT current_setting('statement_timeout') AS limit`;
    expect(await ask(server.url('careless'), sql, { STORE_TIMEOUT_MS })).toEqual({ limit });
  });
});
