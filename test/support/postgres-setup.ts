import { PostgresServer } from './postgres-server.js';

let server: PostgresServer | undefined;

/** The server that the suite runs on: the one that DATABASE_URL names, or one of its own. */
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
