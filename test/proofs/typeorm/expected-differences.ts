import type { Engine } from '../../../packages/platform/src/testing/test-store.js';

/** Tests that pass with the stock driver, and are meant to fail here. */
export interface ExpectedDifference {
  /** The file with the tests, below TypeORM's folder `test`. */
  readonly file: string;
  /** How many of its tests fail here. */
  readonly tests: number;
  readonly reason: string;
}

const DESTROYED = 'a second destroy() has nothing to do, and resolves';
const LOSES_VALUES = 'a change of a column that would drop its values is refused';
const NO_EXTENSIONS = 'the program installs no extensions of PostgreSQL';
const UUIDS = 'PostgreSQL itself generates UUIDs, without an extension';

export const EXPECTED: Readonly<Record<Engine, readonly ExpectedDifference[]>> = {
  sqlite: [
    {
      file: 'functional/base-entity/base-entity.test.js',
      tests: 1,
      reason: 'only one data source at a time may have a SQLite store',
    },
    {
      file: 'functional/connection/connection.test.js',
      tests: 1,
      reason: DESTROYED,
    },
    {
      file: 'functional/database-schema/column-types/sqlite/column-types-sqlite.test.js',
      tests: 1,
      reason: 'bigint is a decimal string, since a number would be rounded',
    },
  ],
  postgres: [
    {
      file: 'functional/connection/connection.test.js',
      tests: 1,
      reason: DESTROYED,
    },
    {
      file: 'functional/database-schema/column-types/postgres-enum/postgres-enum.test.js',
      tests: 3,
      reason: LOSES_VALUES,
    },
    { file: 'github-issues/1997/issue-1997.test.js', tests: 2, reason: LOSES_VALUES },
    { file: 'github-issues/2216/issue-2216.test.js', tests: 1, reason: NO_EXTENSIONS },
    { file: 'github-issues/5898/issue-5898.test.js', tests: 2, reason: UUIDS },
    { file: 'github-issues/7662/issue-7662.test.js', tests: 1, reason: NO_EXTENSIONS },
    { file: 'github-issues/8273/issue-8273.test.js', tests: 2, reason: UUIDS },
    {
      file: 'github-issues/11285/issue-11285.test.js',
      tests: 1,
      reason:
        'it counts the calls of a method of the stock query runner, which another replaces here',
    },
  ],
};
