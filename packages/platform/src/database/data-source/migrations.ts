import { type DataSource, MigrationExecutor, type QueryRunner, TypeORMError } from 'typeorm';
import type { Migration } from 'typeorm/migration/Migration.js';

/** The rules of an engine for TypeORM's execution of migrations. */
export interface MigrationRules {
  /** SQL that `migration:generate` writes only on another engine. */
  readonly foreignSql: RegExp;

  /** Keeps other programs from executing migrations until the query runner is released. */
  lock(queryRunner: QueryRunner): Promise<void>;

  /** Prepares the session. */
  prepare(queryRunner: QueryRunner): Promise<MigrationSteps>;
}

/** What is done during migrations, in their transactions. */
export interface MigrationSteps {
  /** Executes a change of a table, so that the feed of changes goes on. */
  alterTable<Result>(alter: () => Promise<Result>): Promise<Result>;

  /** Checks and restores, at the end of a migration, what it must not lose. */
  finish(): Promise<void>;
}

const ALTERS_TABLE = /^\s*ALTER\s+TABLE\b/i;
/** A migration that compares with the name of an engine distinguishes them itself. */
const NAMES_ENGINE = /(['"])(?:postgres|sqlite)\1/;

/** Executes migrations as TypeORM does, for starts and for the command line. */
export class StoreMigrationExecutor extends MigrationExecutor {
  private steps: MigrationSteps | undefined;

  constructor(
    dataSource: DataSource,
    protected override readonly queryRunner: QueryRunner,
    private readonly rules: MigrationRules,
    private readonly retired: readonly string[],
  ) {
    super(dataSource, queryRunner);
  }

  /** Leaves out the former migrations, of which there is nothing to undo. */
  protected override async loadExecutedMigrations(queryRunner: QueryRunner): Promise<Migration[]> {
    const executed = await super.loadExecutedMigrations(queryRunner);
    return executed.filter(({ name }) => !this.retired.includes(name));
  }

  /** @throws TypeORMError for a migration that was generated on another engine */
  override async executePendingMigrations(): Promise<Migration[]> {
    for (const { name, instance } of await this.getPendingMigrations()) {
      const code = String(instance?.constructor);
      const [sql] = this.rules.foreignSql.exec(code) ?? [];
      if (sql !== undefined && !NAMES_ENGINE.test(code)) {
        throw new TypeORMError(
          `${name} was generated on another engine, since it has ${sql}: write it by hand, with CreateTable or changeSchema(queryRunner), which suit each engine`,
        );
      }
    }
    await this.prepare();
    return await super.executePendingMigrations();
  }

  override async undoLastMigration(): Promise<void> {
    await this.prepare();
    await super.undoLastMigration();
  }

  private async prepare(): Promise<void> {
    const { queryRunner } = this;
    const steps = await this.rules.prepare(queryRunner);
    const send = queryRunner.query.bind(queryRunner) as (...call: unknown[]) => Promise<unknown>;
    const query = (sql: string, ...others: unknown[]): Promise<unknown> =>
      ALTERS_TABLE.test(sql) ? steps.alterTable(() => send(sql, ...others)) : send(sql, ...others);
    Object.assign(queryRunner, { query });
    this.steps = steps;
  }

  protected override async insertExecutedMigration(
    queryRunner: QueryRunner,
    migration: Migration,
  ): Promise<void> {
    await this.steps?.finish();
    await super.insertExecutedMigration(queryRunner, migration);
  }

  protected override async deleteExecutedMigration(
    queryRunner: QueryRunner,
    migration: Migration,
  ): Promise<void> {
    await this.steps?.finish();
    await super.deleteExecutedMigration(queryRunner, migration);
  }
}
