import { chmod } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { peer, program, type TableContestant } from '../contestants.js';
import { REPLACED_TAG } from '../operations.js';
import { compare, type Comparison } from './compare.js';
import { life } from './life.js';
import type { Setting } from './round.js';

const COUNT = 'SELECT count(*)::int AS count FROM plants';
const FILL = `INSERT INTO plants (id, name, tag)
  SELECT id, 'Monstera deliciosa', 'indoor' FROM generate_series(1, $1::int) AS id`;

/** Measures the rate of creates. */
export async function postgres(setting: Setting): Promise<Comparison> {
  return await onPostgres(setting, (onServer) => {
    const replicas = { ...program('replicas', 'Plant Store, two replicas'), replicas: 2 };
    const contestants = [program(), replicas, fastify()].map(onServer);
    return compare(setting, contestants, 'Durable creates on PostgreSQL');
  });
}

/** Measures the rates of reads, pages, replacements and removals. */
export async function lifeOnPostgres(setting: Setting): ReturnType<typeof life> {
  return await onPostgres(setting, (onServer) =>
    life(setting, [program(), fastify()].map(onServer)),
  );
}

function fastify(): TableContestant {
  return peer('fastify-pg', 'Fastify + pg');
}

/**
 * Runs `action` on one PostgreSQL server with its shipped settings. `onServer` makes a contestant
 * use a database on this server.
 */
async function onPostgres<Result>(
  setting: Setting,
  action: (onServer: (contestant: TableContestant) => TableContestant) => Promise<Result>,
): Promise<Result> {
  // The server runs as another user when this program runs as root.
  await chmod(setting.folder, 0o755);
  process.env.TMPDIR = setting.folder;
  const server = await PostgresServer.start();
  const makeUrl = (folder: string): string => server.url(path.basename(folder));
  try {
    return await action((contestant) => ({
      ...contestant,
      env: (port, folder) => ({ ...contestant.env?.(port, folder), DATABASE_URL: makeUrl(folder) }),
      prepare: async (folder) => {
        await query(server.url(), `CREATE DATABASE "${path.basename(folder)}"`);
      },
      stored: (folder) => count(makeUrl(folder), COUNT),
      replaced: (folder) => count(makeUrl(folder), `${COUNT} WHERE tag = $1`, REPLACED_TAG),
      fill: async (folder, rows) => {
        await query(makeUrl(folder), FILL, rows);
        await query(makeUrl(folder), 'VACUUM ANALYZE plants');
      },
      clear: async (folder) => {
        await query(server.url(), `DROP DATABASE "${path.basename(folder)}" WITH (FORCE)`);
      },
    }));
  } finally {
    await server.remove();
  }
}

async function count(url: string, sql: string, ...values: unknown[]): Promise<number> {
  const [row] = await query(url, sql, ...values);
  return (row as { count: number }).count;
}

async function query(url: string, sql: string, ...values: unknown[]): Promise<unknown[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<object>(sql, values)).rows;
  } finally {
    await client.end();
  }
}
