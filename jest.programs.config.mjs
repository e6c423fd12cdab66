import { APART, postgresServer, shared } from './jest.config.mjs';

const apart = APART.map((pattern) => `${pattern}.*\\.e2e-spec\\.ts$`);

// The tests that `npm test` leaves out, on the engine that they are for.
/** @type {import('jest').Config} */
export default {
  testTimeout: 60_000,
  projects: [
    {
      ...shared,
      displayName: 'sqlite',
      roots: ['test'],
      testRegex: apart,
      testPathIgnorePatterns: ['/test/postgres/'],
      globals: { engine: 'sqlite' },
    },
    {
      ...shared,
      displayName: 'postgres',
      roots: ['test/postgres'],
      testRegex: apart,
      globals: { engine: 'postgres' },
      ...postgresServer,
    },
  ],
};
