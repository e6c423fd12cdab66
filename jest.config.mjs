import { swc } from './scripts/swc.mjs';

/** @type {import('jest').Config} */
// Whatever depends on the local time of the machine shows here.
process.env.TZ = 'America/New_York';

const ROOT = import.meta.dirname;
const SHARE_MODULE = '<rootDir>/test/support/share-module.mjs';
/** Modules whose classes and decorators test files and the program must have in common. */
const PACKAGES = '@nestjs|class-transformer|class-validator|express|rxjs|sqlite3|typeorm';
const SHARED_PACKAGES = {
  [String.raw`^${ROOT}/node_modules/(@nestjs/|typeorm/index\.mjs$)`]: [
    SHARE_MODULE,
    { format: 'module' },
  ],
  [`^${ROOT}/node_modules/(${PACKAGES})/`]: [SHARE_MODULE, { format: 'commonjs' }],
};
const SHARED_SOURCES = {
  [String.raw`^${ROOT}/(src|packages/platform/src(?!/testing)|packages/store/src|examples/[^/]+/src|test/fixtures)/(?!.*spec\.ts$)`]:
    [SHARE_MODULE, { format: 'module' }],
};
const SOURCES = { [String.raw`\.ts$`]: ['@swc/jest', swc] };

/** The tests run the sources of the package, not its last build. */
const CONDITIONS = ['source', 'node', 'node-addons'];

const separate = {
  testEnvironment: '<rootDir>/test/support/jest-environment.mjs',
  testEnvironmentOptions: { customExportConditions: CONDITIONS },
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { [String.raw`^(\.{1,2}/.*)\.js$`]: '$1' },
  transform: SOURCES,
};

/** Unit tests get packages from their worker. They replace modules of the program, so each loads its own. */
const unit = {
  ...separate,
  testEnvironmentOptions: {
    customExportConditions: CONDITIONS,
    shareGlobals: true,
    globalsCleanup: 'off',
  },
  transformIgnorePatterns: [`/node_modules/(?!(${PACKAGES})/)`],
  transform: { ...SHARED_PACKAGES, ...SOURCES },
};

const sharing = { ...unit, transform: { ...SHARED_SOURCES, ...unit.transform } };

/** End-to-end tests also get the program from their worker, unless its coverage is to be counted. */
export const endToEnd = process.argv.includes('--coverage') ? separate : sharing;

/** `npm run prove` runs them. */
const PROOFS = ['/test/proofs/', '/test/fuzz/planted'];

/** One server for all suites of a run. */
export const postgresServer = {
  globalSetup: './test/support/jest-postgres-setup.mjs',
  globalTeardown: './test/support/jest-postgres-teardown.mjs',
};

// The folder of an end-to-end test decides where it runs: those in test/sqlite, test/postgres and
// test/server, which is the same on every engine, on one engine; all others on both.
/** @type {import('jest').Config} */
export default {
  // What runs as a process of its own in the tests is not counted there: neither for nor against.
  collectCoverageFrom: [
    '{src,packages/platform/src,packages/store/src}/**/*.ts',
    '!**/*spec.ts',
    '!src/main.ts',
    '!src/commands/*.ts',
    '!packages/platform/src/program/{run-program,shutdown}.ts',
    '!packages/platform/src/commands/db-*.ts',
    '!packages/platform/src/testing/**',
  ],
  coverageProvider: 'v8',
  coverageThreshold: { global: { lines: 95, branches: 95 } },
  // Modules of finished suites stay in memory. Freeing them at the end takes a busy machine long.
  workerIdleMemoryLimit: '800MB',
  // A busy machine may take longer than half a second to end a worker.
  workerGracefulExitTimeout: 60_000,
  // Tests start programs, and a machine may be busy: how long something may take is what they check.
  testTimeout: 300_000,
  projects: [
    {
      ...unit,
      displayName: 'unit',
      roots: ['src', 'packages', 'test'],
      testRegex: String.raw`\.spec\.ts$`,
      testPathIgnorePatterns: ['/test/docs/'],
      setupFilesAfterEnv: ['./test/support/jest-unit-setup.mjs'],
    },
    { ...separate, displayName: 'docs', roots: ['test/docs'], testRegex: String.raw`\.spec\.ts$` },
    {
      ...endToEnd,
      displayName: 'sqlite',
      roots: ['src', 'packages', 'examples', 'test'],
      testRegex: String.raw`\.e2e-spec\.ts$`,
      testPathIgnorePatterns: ['/test/postgres/', ...PROOFS],
      globals: { engine: 'sqlite' },
    },
    {
      ...endToEnd,
      displayName: 'postgres',
      roots: ['src', 'packages', 'examples', 'test'],
      testRegex: String.raw`\.e2e-spec\.ts$`,
      testPathIgnorePatterns: ['/test/sqlite/', '/test/server/', ...PROOFS],
      globals: { engine: 'postgres' },
      ...postgresServer,
    },
  ],
};
