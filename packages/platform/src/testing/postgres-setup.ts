import { PostgresServer } from './postgres-server.js';

let server: PostgresServer | undefined;

/** Jest's globalSetup: provides one server for all suites, the one of DATABASE_URL or a new one. */
export default async function setup(): Promise<void> {
  const { DATABASE_URL } = process.env;
  const isGiven = DATABASE_URL?.startsWith('postgres') ?? false;
  if (!isGiven) server = await PostgresServer.start();
  process.env.TEST_POSTGRES_URL = server?.url() ?? DATABASE_URL;
}

/** Removes the server that the setup started. */
export async function teardown(): Promise<void> {
  await server?.remove();
}
