import { endToEnd, postgresServer } from '../../../jest.config.mjs';

const ROOT = new URL('../../../', import.meta.url).pathname;
const E2E = String.raw`/test/(proofs/programs/|fuzz/planted-faults).*\.e2e-spec\.ts$`;

/** @type {import('jest').Config} */
export default {
  rootDir: ROOT,
  testTimeout: 300_000,
  workerGracefulExitTimeout: 60_000,
  projects: [
    {
      ...endToEnd,
      rootDir: ROOT,
      displayName: 'sqlite',
      testRegex: E2E,
      testPathIgnorePatterns: ['/programs/postgres/'],
      globals: { engine: 'sqlite' },
    },
    {
      ...endToEnd,
      rootDir: ROOT,
      displayName: 'postgres',
      testRegex: E2E,
      testPathIgnorePatterns: ['/programs/[^/]+$', '/test/fuzz/'],
      globals: { engine: 'postgres' },
      ...postgresServer,
    },
  ],
};
