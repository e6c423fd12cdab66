import {
  DataSource,
  MigrationExecutor,
  type ObjectLiteral,
  type QueryRunner,
  type Repository,
} from 'typeorm';
import type { BulkTable } from './bulk-table.js';

/** The store cannot be used. The message is one line for the operator, without a path. */
export class DatabaseStartError extends Error {}

/** What this program needs of an engine, beyond what TypeORM does alike on each. */
export abstract class StoreDataSource extends DataSource {
  /** @throws DatabaseStartError when the engine is not set up to keep what it is given */
  abstract enableDurableCommits(): Promise<void>;

  /** Brings the schema up to date, one program at a time. */
  abstract migrate(): Promise<void>;

  abstract bulkTable<Row extends ObjectLiteral>(repository: Repository<Row>): BulkTable<Row>;

  /**
   * Commits durably what changes nothing, to find out whether the store can be written. It is one
   * statement, because others may use the same connection meanwhile.
   */
  abstract probeWrite(): Promise<void>;

  /** Why the store cannot be opened, in words for the operator. */
  abstract describeError(error: unknown): string;

  get migrationNames(): string[] {
    return this.migrations.map(({ name, constructor }) => name ?? constructor.name);
  }

  /** @throws DatabaseStartError when a newer version of the program has made the schema */
  protected async runNewMigrations(queryRunner: QueryRunner): Promise<void> {
    const executor = new MigrationExecutor(this, queryRunner);
    executor.transaction = 'each';
    const executed = await executor.getExecutedMigrations();
    const { unknown } = compareMigrations(this.migrationNames, executed);
    if (unknown.length > 0) {
      throw new DatabaseStartError('The database is newer than this program: run a newer version');
    }
    await executor.executePendingMigrations();
  }
}

/** Which of a store's migrations a program does not know, and which of its own the store lacks. */
export function compareMigrations(
  known: readonly string[],
  executed: readonly { readonly name: string }[],
): { unknown: string[]; missing: string[] } {
  const names = executed.map(({ name }) => name);
  return {
    unknown: names.filter((name) => !known.includes(name)),
    missing: known.filter((name) => !names.includes(name)),
  };
}

/** The code of a driver's or the system's error, or an empty string. */
export function codeOf(error: unknown): string {
  return (error as { code?: string } | undefined)?.code ?? '';
}
