import { endToEnd, postgresServer } from '../../../jest.config.mjs';

const ROOT = new URL('../../../', import.meta.url).pathname;

const onEngine = (engine, ignored) => ({
  ...endToEnd,
  rootDir: ROOT,
  displayName: engine,
  testRegex: String.raw`/test/(proofs/programs/|fuzz/planted-faults).*\.e2e-spec\.ts$`,
  testPathIgnorePatterns: ignored,
  globals: { engine },
});

/** @type {import('jest').Config} */
export default {
  rootDir: ROOT,
  testTimeout: 300_000,
  workerGracefulExitTimeout: 60_000,
  projects: [
    onEngine('sqlite', ['/programs/postgres/']),
    { ...onEngine('postgres', ['/programs/[^/]+$', '/test/fuzz/']), ...postgresServer },
  ],
};
