import { chmod } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import pg from 'pg';
import { tsImport } from 'tsx/esm/api';
import { peer, program } from '../contestants.mjs';
import { REPLACED_TAG } from '../operations.mjs';
import { compare } from './compare.mjs';
import { life } from './life.mjs';

const FILL = "INSERT INTO plants (id, name, tag) SELECT id, 'Monstera deliciosa', 'indoor' FROM";

// pg and the server are those of the program and of its tests, in the folder above.
const { PostgresServer } = await tsImport('../../test/support/postgres-server.ts', import.meta.url);

/** Runs `action` with contestants on one PostgreSQL server with its shipped settings. */
async function onPostgres(setting, action) {
  // The server runs as another user when this program runs as root.
  await chmod(setting.folder, 0o755);
  process.env.TMPDIR = setting.folder;
  const server = await PostgresServer.start();
  try {
    return await action(createContestants(server));
  } finally {
    await server.remove();
  }
}

/** Measures the rate of creates. */
export async function postgres(setting) {
  return await onPostgres(setting, ({ program, replicas, fastify }) =>
    compare(setting, [program, replicas, fastify], 'Durable creates on PostgreSQL'),
  );
}

/** Measures the rates of reads, pages, replacements and removals. */
export async function lifeOnPostgres(setting) {
  return await onPostgres(setting, ({ program, fastify }) => life(setting, [program, fastify]));
}

/** @returns {Record<string, import('../contestants.mjs').Contestant>} */
function createContestants(server) {
  const makeUrl = (folder) => server.url(path.basename(folder));
  const onServer = (contestant) => ({
    ...contestant,
    env: (port, folder) => ({ ...contestant.env(port), DATABASE_URL: makeUrl(folder) }),
    prepare: (folder) => query(server.url(), `CREATE DATABASE "${path.basename(folder)}"`),
    stored: (folder) => count(makeUrl(folder), 'true'),
    replaced: (folder) => count(makeUrl(folder), `tag = '${REPLACED_TAG}'`),
    fill: async (folder, rows) => {
      await query(makeUrl(folder), `${FILL} generate_series(1, ${rows}) AS id`);
      await query(makeUrl(folder), 'VACUUM ANALYZE plants');
    },
    clear: (folder) => query(server.url(), `DROP DATABASE "${path.basename(folder)}" WITH (FORCE)`),
  });
  return {
    program: onServer(program()),
    replicas: onServer({ ...program('replicas', 'Plant Store, two replicas'), replicas: 2 }),
    fastify: onServer(peer('fastify-pg', 'Fastify + pg')),
  };
}

async function count(url, condition) {
  const [{ count }] = await query(url, `SELECT count(*) FROM plants WHERE ${condition}`);
  return Number(count);
}

async function query(url, sql) {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
