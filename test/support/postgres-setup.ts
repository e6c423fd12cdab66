import { PostgresServer } from './postgres-server.js';

let server: PostgresServer | undefined;

/** Provides the server for the suite: that of DATABASE_URL, or a new one. */
export async function setup(): Promise<void> {
  const { DATABASE_URL } = process.env;
  if (DATABASE_URL?.startsWith('postgres') === true) {
    process.env.TEST_POSTGRES_URL = DATABASE_URL;
  } else {
    server = await PostgresServer.start();
    process.env.TEST_POSTGRES_URL = server.url();
  }
}

export async function teardown(): Promise<void> {
  await server?.remove();
}
