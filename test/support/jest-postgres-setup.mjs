import { tsImport } from 'tsx/esm/api';

// Jest loads TypeScript files that run before the tests as CommonJS.
const { PostgresServer } = await tsImport('./postgres-server.ts', import.meta.url);

let server;

/** Provides the server for the suite: that of DATABASE_URL, or a new one. */
export default async function setup() {
  const { DATABASE_URL } = process.env;
  if (!DATABASE_URL?.startsWith('postgres')) server = await PostgresServer.start();
  process.env.TEST_POSTGRES_URL = server?.url() ?? DATABASE_URL;
}

export async function teardown() {
  await server?.remove();
}
