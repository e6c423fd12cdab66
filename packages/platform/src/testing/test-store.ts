import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

export type Engine = 'sqlite' | 'postgres';

/**
 * The engine of this run of the suite, `sqlite` by default.
 *
 * @example
 * ```ts
 * const isServer = ENGINE === 'postgres';
 * ```
 */
export const ENGINE = (globalThis as { engine?: Engine }).engine ?? 'sqlite';

/**
 * An empty store for one test file.
 *
 * @example
 * ```ts
 * const empty = await TestStore.create();
 * process.env.DATABASE_URL = empty.url;
 * await empty.remove();
 * ```
 */
export class TestStore {
  private constructor(
    /** The value for DATABASE_URL. */
    readonly url: string,
    /** May be called again. */
    readonly remove: () => Promise<void>,
  ) {}

  static create(engine = ENGINE): Promise<TestStore> {
    return engine === 'postgres' ? TestStore.onPostgres() : TestStore.onSqlite();
  }

  private static async onSqlite(): Promise<TestStore> {
    const folder = await mkdtemp(join(tmpdir(), 'store-'));
    const url = `sqlite:${join(folder, 'store.db')}`;
    return new TestStore(url, () => rm(folder, { recursive: true, force: true }));
  }

  private static async onPostgres(): Promise<TestStore> {
    const url = new URL(process.env.TEST_POSTGRES_URL ?? '');
    const database = `store_test_${randomBytes(6).toString('hex')}`;
    const execute = async (sql: string): Promise<void> => {
      const client = new pg.Client(url.href);
      await client.connect();
      await client.query(sql);
      await client.end();
    };
    // A locale that does not sort by code point, and a time zone with a summer time.
    await execute(
      `CREATE DATABASE ${database} ENCODING UTF8 TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`,
    );
    await execute(`ALTER DATABASE ${database} SET timezone TO 'America/New_York'`);
    const own = Object.assign(new URL(url), { pathname: `/${database}` });
    return new TestStore(own.href, () =>
      execute(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`),
    );
  }
}
