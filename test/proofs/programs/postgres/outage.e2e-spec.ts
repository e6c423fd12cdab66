import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import { PostgresServer } from '../../../support/postgres-server.js';
import { TcpProxy } from '../../../support/tcp-proxy.js';
import { type Answer, TestApp } from '../../../support/test-app.js';

/** The beginning of a statement's name, as it is sent to the server. */
const INSERT = 'insert ';

let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.start();
  await query(server.url(), 'CREATE ROLE plants LOGIN CREATEDB');
});
afterAll(() => server.remove());

async function query(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/**
 * The application with a proxy before its database, and clients that create plants without a pause.
 */
class Scene {
  readonly acknowledged = new Set<string>();
  readonly unavailable = new Set<string>();
  private readonly oddities: unknown[] = [];
  private lastId = 0;
  private isOver = false;
  locker: pg.Client | undefined;
  private clients: Promise<unknown> | undefined;
  private readonly watchers = new Set<() => void>();

  private constructor(
    readonly app: TestApp,
    readonly proxy: TcpProxy,
  ) {}

  static async open(): Promise<Scene> {
    const proxy = await TcpProxy.start(server.port);
    process.env.TEST_POSTGRES_URL = `postgres://plants@127.0.0.1:${proxy.port}/postgres`;
    return new Scene(await TestApp.start(), proxy);
  }

  get database(): string {
    return new URL(this.app.storeUrl).pathname.slice(1);
  }

  /** Executes statements as the superuser in the database of the application, without the proxy. */
  async execute(...statements: string[]): Promise<void> {
    await query(server.url(this.database), ...statements);
  }

  /** Ends all of the application's connections, as a failover does. */
  async breakConnections(): Promise<void> {
    await this.execute(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
  }

  createWithoutRest(clients = 16): void {
    this.clients = Promise.all(Array.from({ length: clients }, () => this.client()));
  }

  /** Resolves once this many further creates have one of these answers. */
  async more(count: number, answers: Set<string>): Promise<void> {
    const enough = answers.size + count;
    while (answers.size < enough) {
      await new Promise<void>((resolve) => this.watchers.add(resolve));
    }
  }

  /** Ends the creates, and compares them with the stored plants. */
  async expectNothingLost(): Promise<void> {
    this.isOver = true;
    await this.clients;
    expect(this.oddities).toEqual([]);
    const stored = new Set((await this.app.rows()).map(({ id }) => id));
    expect([...this.acknowledged].filter((id) => !stored.has(id))).toEqual([]);
    const isKnown = (id: string): boolean => this.acknowledged.has(id) || this.unavailable.has(id);
    expect([...stored].filter((id) => !isKnown(id))).toEqual([]);
  }

  async close(): Promise<void> {
    this.isOver = true;
    this.proxy.befall();
    await this.clients;
    await this.app.close();
    this.proxy.close();
  }

  private async client(): Promise<void> {
    while (!this.isOver) {
      const id = String(++this.lastId);
      const answer = await createPlant(this.app, id);
      if (answer.status === 200) this.acknowledged.add(id);
      else if (isUnavailable(answer)) this.unavailable.add(id);
      else this.oddities.push(answer.body);
      for (const watcher of this.watchers) watcher();
      this.watchers.clear();
    }
  }
}

function createPlant(app: TestApp, id: string): Promise<Answer> {
  return app.create(`{"id":${id},"name":"Monstera"}`);
}

function isUnavailable({ status, headers, body }: Answer): boolean {
  const { error } = body as { error: number };
  return status === 503 && error === 50_300 && headers.get('retry-after') === '1';
}

/** An outage of the store, and its end. */
interface Outage {
  readonly begin: (scene: Scene) => Promise<void> | void;
  readonly end: (scene: Scene) => Promise<void> | void;
}

const OUTAGES: Record<string, Outage> = {
  'refuses connections since it has too many': {
    begin: async (scene) => {
      await scene.execute(`ALTER DATABASE ${scene.database} CONNECTION LIMIT 0`);
      await scene.breakConnections();
    },
    end: (scene) => scene.execute(`ALTER DATABASE ${scene.database} CONNECTION LIMIT -1`),
  },
  'has become read-only': {
    begin: async (scene) => {
      await scene.execute(
        `ALTER DATABASE ${scene.database} SET default_transaction_read_only = on`,
      );
      await scene.breakConnections();
    },
    end: (scene) =>
      scene.execute(
        'SET default_transaction_read_only = off',
        `ALTER DATABASE ${scene.database} RESET default_transaction_read_only`,
      ),
  },
  'makes creates wait for the lock of another program': {
    begin: async (scene) => {
      scene.locker = new pg.Client(server.url(scene.database));
      await scene.locker.connect();
      await scene.locker.query('BEGIN; LOCK TABLE plants');
    },
    end: (scene) => scene.locker?.end(),
  },
  'is silent': {
    begin: ({ proxy }) => proxy.befall({ kind: 'silence' }),
    end: ({ proxy }) => proxy.befall(),
  },
  'falls silent while connections are being set up': {
    begin: async (scene) => {
      scene.proxy.befall({ kind: 'silence from', bytes: 'set_config' });
      await scene.breakConnections();
    },
    end: ({ proxy }) => proxy.befall(),
  },
};

describe('while the server', () => {
  const scenes = new Map<string, Scene>();

  beforeAll(async () => {
    for (const name of Object.keys(OUTAGES)) scenes.set(name, await Scene.open());
  });
  afterAll(async () => {
    for (const scene of scenes.values()) await scene.close();
  });

  it.concurrent.each(Object.entries(OUTAGES))(
    '%s, creates are answered 503, and afterwards 200 again',
    async (name, { begin, end }) => {
      const scene = scenes.get(name);
      if (scene === undefined) throw new TypeError('no such scene');
      scene.createWithoutRest();
      await scene.more(50, scene.acknowledged);
      await begin(scene);
      await scene.more(16, scene.unavailable);
      await end(scene);
      await scene.more(50, scene.acknowledged);
      await scene.expectNothingLost();
    },
  );
});

describe('a service on a server', () => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.open();
  });
  afterEach(() => scene.close());

  const health = async (name: string): Promise<number> =>
    (await scene.app.request('GET', `/health/${name}`)).status;

  it('is ready again though one connection stays silent for ever', async () => {
    scene.proxy.befall({ kind: 'silence from', bytes: 'pg_logical_emit_message' });
    expect(await health('ready')).toBe(503);
    scene.proxy.befall();
    while ((await health('ready')) !== 200) await setImmediate();
  });

  it('that is stopped leaves the program live and not ready until it is back', async () => {
    await server.kill('SIGINT');
    try {
      while ((await health('ready')) !== 503) await setImmediate();
      expect(await health('live')).toBe(200);
    } finally {
      await server.resume();
    }
    while ((await health('ready')) !== 200) await setImmediate();
  });

  it('that becomes a standby gets no reads, which might be old, until it is promoted', async () => {
    expect((await createPlant(scene.app, '1')).status).toBe(200);
    await server.kill('SIGINT');
    await server.resumeAsStandby();
    try {
      for (const path of ['/plants/1', '/plants', '/health/ready']) {
        expect(await scene.app.get(path)).toMatchObject({ status: 503 });
      }
      expect(isUnavailable(await createPlant(scene.app, '2'))).toBe(true);
    } finally {
      await query(server.url(), 'SELECT pg_promote()');
    }
    while ((await createPlant(scene.app, '2')).status !== 200) await setImmediate();
    expect((await scene.app.get('/plants/1')).status).toBe(200);
  });

  it('whose commits wait for a standby answers reads, and later creates', async () => {
    const admin = new pg.Client(server.url());
    await admin.connect();
    const setStandby = async (name: string): Promise<void> => {
      await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
      await admin.query('SELECT pg_reload_conf()');
    };
    scene.createWithoutRest();
    await scene.more(50, scene.acknowledged);
    await setStandby('absent');
    try {
      // Each of them waits for five seconds at most.
      await scene.more(100, scene.unavailable);
      expect((await scene.app.get('/plants/1')).status).toBe(200);
      expect(await health('ready')).toBe(503);
    } finally {
      await setStandby('');
    }
    await scene.more(50, scene.acknowledged);
    await scene.expectNothingLost();
    await admin.end();
  });

  it('that ends all connections works with new ones', async () => {
    scene.createWithoutRest();
    for (let round = 0; round < 3; round++) {
      await scene.more(50, scene.acknowledged);
      await scene.breakConnections();
    }
    await scene.more(50, scene.acknowledged);
    await scene.expectNothingLost();
  });

  // Concurrent replacements of one plant are one transaction.
  it.each(['COMMIT', 'BEGIN'])('lives on when a transaction breaks at its %s', async (bytes) => {
    expect((await createPlant(scene.app, '1')).status).toBe(200);
    scene.proxy.befall({ kind: 'lost', bytes });
    const replace = (): Promise<Answer> => scene.app.put('/plants/1', '{"name":"replaced"}');
    const answers = await Promise.all(Array.from({ length: 50 }, replace));
    expect(answers.filter(isUnavailable).length).toBeGreaterThan(0);
    scene.proxy.befall();
    expect((await replace()).status).toBe(200);
  });

  it.each([
    ['the answer to a commit is lost', 'answer lost', 409],
    ['a commit is lost on its way', 'lost', 200],
  ] as const)('answers 503 when %s (%s), and the retry with %i', async (_, kind, retried) => {
    expect((await createPlant(scene.app, '1')).status).toBe(200);
    scene.proxy.befall({ kind, bytes: INSERT });
    expect(isUnavailable(await createPlant(scene.app, '2'))).toBe(true);
    scene.proxy.befall();
    expect((await createPlant(scene.app, '2')).status).toBe(retried);
  });
});
