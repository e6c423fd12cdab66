import { chmod } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import pg from 'pg';
import { tsImport } from 'tsx/esm/api';
import { peer, program } from '../contestants.mjs';
import { compare } from './compare.mjs';

// pg and the server are those of the program and of its tests, in the folder above.
const { PostgresServer } = await tsImport('../../test/support/postgres-server.ts', import.meta.url);

/** The rate of creates on one PostgreSQL server with its shipped settings. */
export async function postgres(setting) {
  // The server runs as another user when this program runs as root.
  await chmod(setting.folder, 0o755);
  process.env.TMPDIR = setting.folder;
  const server = await PostgresServer.start();
  try {
    return await compare(setting, contestantsOn(server), 'Durable creates on PostgreSQL');
  } finally {
    await server.remove();
  }
}

/** @returns {import('../contestants.mjs').Contestant[]} */
function contestantsOn(server) {
  const urlOf = (folder) => server.url(path.basename(folder));
  const onServer = (contestant) => ({
    ...contestant,
    env: (port, folder) => ({ ...contestant.env(port), DATABASE_URL: urlOf(folder) }),
    prepare: (folder) => query(server.url(), `CREATE DATABASE "${path.basename(folder)}"`),
    stored: async (folder) => {
      const [{ count }] = await query(urlOf(folder), 'SELECT count(*) FROM plants');
      await query(server.url(), `DROP DATABASE "${path.basename(folder)}" WITH (FORCE)`);
      return Number(count);
    },
  });
  return [
    onServer(program()),
    onServer({ ...program('replicas', 'Plant Store, two replicas'), replicas: 2 }),
    onServer(peer('fastify-pg', 'Fastify + pg')),
  ];
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
