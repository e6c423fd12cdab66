import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { PostgresServer } from '../../../../packages/platform/src/testing/postgres-server.js';
import { TcpProxy } from '../../../support/tcp-proxy.js';
import { type Answer, until } from 'durable-rest/testing';
import { TestApp } from '../../../support/test-app.js';

/** The beginning of a statement's name, as it is sent to the server. */
const INSERT = 'insert ';
/** How many creates are sent at once. */
const CREATES = 20;

let server: PostgresServer;
let proxy: TcpProxy;
let app: TestApp;
/** The database of the application. */
let database: string;
let lastId: number;
let acknowledged: string[];

beforeAll(async () => {
  server = await PostgresServer.start();
  await query(server.url(), 'CREATE ROLE plants LOGIN CREATEDB');
});
afterAll(() => server.remove());

beforeEach(async () => {
  proxy = await TcpProxy.start(server.port);
  process.env.TEST_POSTGRES_URL = `postgres://plants@127.0.0.1:${proxy.port}/postgres`;
  app = await TestApp.start();
  database = new URL(app.storeUrl).pathname.slice(1);
  [lastId, acknowledged] = [0, []];
});
afterEach(async () => {
  proxy.befall();
  await app.close();
  proxy.close();
});

async function query(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/** Executes statements as the superuser in the database of the application, without the proxy. */
async function execute(...statements: string[]): Promise<void> {
  await query(server.url(database), ...statements);
}

/** Ends all of the application's connections, as a failover does. */
async function breakConnections(): Promise<void> {
  await execute(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}

/** Creates a plant, and resolves with the status. */
async function create(id = String(++lastId)): Promise<number> {
  const answer = await app.create(`{"id":${id},"name":"Monstera"}`);
  if (answer.status === 200) acknowledged.push(id);
  if (answer.status === 503) expectUnavailable(answer);
  return answer.status;
}

function expectUnavailable({ status, headers, body }: Answer): void {
  expect({ status, body }).toMatchObject({ status: 503, body: { error: 50300 } });
  expect(headers.get('retry-after')).toBe('1');
}

async function expectCreates(status: number): Promise<void> {
  const statuses = await Promise.all(Array.from({ length: CREATES }, () => create()));
  expect(new Set(statuses)).toEqual(new Set([status]));
}

/** Waits until creates succeed again. Every acknowledged plant must then be stored. */
async function expectRecovery(): Promise<void> {
  await until(async () => (await create()) === 200);
  await expectCreates(200);
  const stored = (await app.rows()).map(({ id }) => id);
  expect(stored).toEqual(expect.arrayContaining(acknowledged));
}

async function health(name: string): Promise<number> {
  return (await app.request('GET', `/health/${name}`)).status;
}

type End = () => Promise<void> | void;
/** Begins an outage, and returns the function that ends it. */
type Outage = () => Promise<End> | End;

/** Alters the database for new connections, and breaks all others. */
async function alter(change: string, back: string): Promise<End> {
  await execute(`ALTER DATABASE ${database} ${change}`);
  await breakConnections();
  return () =>
    execute('SET default_transaction_read_only = off', `ALTER DATABASE ${database} ${back}`);
}

const OUTAGES: readonly (readonly [what: string, begin: Outage])[] = [
  [
    'refuses connections since it has too many',
    () => alter('CONNECTION LIMIT 0', 'CONNECTION LIMIT -1'),
  ],
  [
    'has become read-only',
    () => alter('SET default_transaction_read_only = on', 'RESET default_transaction_read_only'),
  ],
  [
    'makes creates wait for the lock of another program',
    async () => {
      const locker = new pg.Client(server.url(database));
      await locker.connect();
      await locker.query('BEGIN; LOCK TABLE plants');
      return () => locker.end();
    },
  ],
  [
    'is silent',
    () => {
      proxy.befall({ kind: 'silence' });
      return () => proxy.befall();
    },
  ],
  [
    'falls silent while connections are being set up',
    async () => {
      proxy.befall({ kind: 'silence from', bytes: 'set_config' });
      await breakConnections();
      return () => proxy.befall();
    },
  ],
];

describe('while the server', () => {
  it.each(OUTAGES)('%s, creates are answered 503, and afterwards 200 again', async (_, begin) => {
    await expectCreates(200);
    const end = await begin();
    await expectCreates(503);
    await end();
    await expectRecovery();
  });
});

describe('a service on a server', () => {
  it('that stops is live and not ready; from a standby it takes no reads, which might be old', async () => {
    expect(await create('1')).toBe(200);
    await server.kill('SIGINT');
    await until(async () => (await health('ready')) === 503);
    expect(await health('live')).toBe(200);
    await server.resumeAsStandby();
    try {
      for (const path of ['/plants/1', '/plants', '/health/ready']) {
        expect([path, (await app.get(path)).status]).toEqual([path, 503]);
      }
      expect(await create('2')).toBe(503);
    } finally {
      await query(server.url(), 'SELECT pg_promote()');
    }
    await until(async () => (await create('2')) === 200);
    expect((await app.get('/plants/1')).status).toBe(200);
  });

  it('whose commits wait for a standby answers reads, and later creates', async () => {
    const setStandby = (name: string): Promise<void> =>
      query(
        server.url(),
        `ALTER SYSTEM SET synchronous_standby_names = '${name}'`,
        'SELECT pg_reload_conf()',
      );
    await expectCreates(200);
    await setStandby('absent');
    try {
      // Each of them waits for five seconds at most.
      await expectCreates(503);
      expect((await app.get('/plants/1')).status).toBe(200);
      expect(await health('ready')).toBe(503);
    } finally {
      await setStandby('');
    }
    await expectRecovery();
  });

  // Concurrent patches of one plant are one transaction.
  it.each(['COMMIT', 'BEGIN'])('lives on when a transaction breaks at its %s', async (bytes) => {
    expect(await create('1')).toBe(200);
    proxy.befall({ kind: 'lost', bytes });
    const patch = (): Promise<Answer> => app.patch('/plants/1', '{"name":"patched"}');
    const answers = await Promise.all(Array.from({ length: 50 }, patch));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).not.toEqual([]);
    for (const answer of refused) expectUnavailable(answer);
    proxy.befall();
    expect((await patch()).status).toBe(200);
  });

  it.each([
    ['the answer to a commit is lost', 'answer lost', 409],
    ['a commit is lost on its way', 'lost', 200],
  ] as const)('answers 503 when %s (%s), and the retry with %i', async (_, kind, retried) => {
    expect(await create('1')).toBe(200);
    proxy.befall({ kind, bytes: INSERT });
    expect(await create('2')).toBe(503);
    proxy.befall();
    expect(await create('2')).toBe(retried);
  });
});
