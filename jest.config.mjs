/** @type {import('jest').Config} */
// Whatever depends on the local time of the machine shows here.
process.env.TZ = 'America/New_York';

export const shared = {
  testEnvironment: '<rootDir>/test/support/jest-environment.mjs',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { [String.raw`^(\.{1,2}/.*)\.js$`]: '$1' },
  transform: {
    [String.raw`\.ts$`]: [
      '@swc/jest',
      {
        swcrc: false,
        jsc: {
          target: 'es2023',
          keepClassNames: true,
          parser: { syntax: 'typescript', decorators: true },
          transform: {
            legacyDecorator: true,
            decoratorMetadata: true,
            useDefineForClassFields: false,
          },
        },
        module: { type: 'es6' },
      },
    ],
  },
};

/** One server for all suites of a run. */
export const postgresServer = {
  globalSetup: './test/support/jest-postgres-setup.mjs',
  globalTeardown: './test/support/jest-postgres-teardown.mjs',
};

/** What is the same on every engine, such as tokens and what is not HTTP: once is enough. */
const WITHOUT_STORE =
  '/test/(authentication|jwt|scopes|object-access|readme|limits|malformed-http|connections|last-answers|slow-readers|pipelined-requests|late-requests|cors|log|http|documents|documented-errors|client|client-changes|parameters|features|routes|streams|change-streams|change-stream-ends|import-connection|fuzz/(flaws|operations))\\.e2e-spec';

// The end-to-end tests run on each engine, except for those in the folder of one of them.
/** @type {import('jest').Config} */
export default {
  // What runs as a process of its own in the tests is not counted there: neither for nor against.
  collectCoverageFrom: [
    'src/**/*.ts',
    '!src/main.ts',
    '!src/shutdown.ts',
    '!src/commands/db-*.ts',
    '!src/commands/write-documents.ts',
    '!src/**/*.error-fixtures.ts',
  ],
  coverageProvider: 'v8',
  coverageThreshold: { global: { lines: 95, branches: 95 } },
  // Tests wait for programs and disks more than they compute.
  maxWorkers: '100%',
  // Modules of finished suites stay in memory. Freeing them at the end takes a busy machine long.
  workerIdleMemoryLimit: '800MB',
  // A busy machine may take longer than half a second to end a worker.
  workerGracefulExitTimeout: 60_000,
  // Tests start programs, and a machine may be busy: how long something may take is what they check.
  testTimeout: 300_000,
  projects: [
    { ...shared, displayName: 'unit', roots: ['src', 'test'], testRegex: String.raw`\.spec\.ts$` },
    {
      ...shared,
      displayName: 'sqlite',
      roots: ['src', 'test'],
      testRegex: String.raw`\.e2e-spec\.ts$`,
      testPathIgnorePatterns: ['/test/postgres/', '/test/proofs/', '/test/fuzz/planted'],
      globals: { engine: 'sqlite' },
    },
    {
      ...shared,
      displayName: 'postgres',
      roots: ['src', 'test'],
      testRegex: String.raw`\.e2e-spec\.ts$`,
      testPathIgnorePatterns: [
        '/test/sqlite/',
        WITHOUT_STORE,
        '/test/proofs/',
        '/test/fuzz/planted',
      ],
      globals: { engine: 'postgres' },
      ...postgresServer,
    },
  ],
};
