import { type DataSource, MigrationExecutor, type QueryRunner, TypeORMError } from 'typeorm';
import type { Migration } from 'typeorm/migration/Migration.js';
import type { MigrationRules, MigrationSteps, StoreQueryRunner } from './engine.js';
import { assertKeys } from './stored-tables.js';

const ALTERS_TABLE = /^\s*ALTER\s+TABLE\b/i;
const MARK = /^\s*SELECT\s+'These statements are for (\w+) only'/i;

/**
 * Writes the statement with which generated SQL begins. It changes nothing. A migration that sends
 * the mark of another engine is refused.
 *
 * @param engine as TypeORM names it
 */
export function writeMark(engine: string): string {
  return `SELECT 'These statements are for ${engine} only'`;
}

export interface MigrationProgress {
  readonly done: number;
  readonly total: number;
}

/** Executes migrations as TypeORM does, for starts and for the command line. */
export class StoreMigrationExecutor extends MigrationExecutor {
  private steps: MigrationSteps | undefined;
  /** The migrations that are left to execute or to undo. The first one is running. */
  private left: readonly Migration[] = [];
  private total = 0;

  constructor(
    dataSource: DataSource,
    protected override readonly queryRunner: StoreQueryRunner,
    private readonly rules: MigrationRules,
    private readonly retired: readonly string[],
  ) {
    super(dataSource, queryRunner);
  }

  /** The name of the migration that is running or has failed; undefined if there is none. */
  get runningMigration(): string | undefined {
    return this.left[0]?.name;
  }

  /** How many of the migrations have been executed or undone. */
  get progress(): MigrationProgress {
    return { done: this.total - this.left.length, total: this.total };
  }

  /** Leaves out the former migrations, of which there is nothing to undo. */
  protected override async loadExecutedMigrations(queryRunner: QueryRunner): Promise<Migration[]> {
    const executed = await super.loadExecutedMigrations(queryRunner);
    return executed.filter(({ name }) => !this.retired.includes(name));
  }

  override async executePendingMigrations(): Promise<Migration[]> {
    this.left = await this.getPendingMigrations();
    this.total = this.left.length;
    await this.prepare();
    return await super.executePendingMigrations();
  }

  override async undoLastMigration(): Promise<void> {
    // The last one comes first.
    this.left = await this.getExecutedMigrations();
    await this.prepare();
    await super.undoLastMigration();
  }

  private async prepare(): Promise<void> {
    const { queryRunner } = this;
    const steps = await this.rules.prepare(queryRunner);
    const send = queryRunner.query.bind(queryRunner) as (...call: unknown[]) => Promise<unknown>;
    const query = async (sql: string, ...others: unknown[]): Promise<unknown> => {
      this.assertOwnEngine(sql);
      const execute = (): Promise<unknown> => send(sql, ...others);
      return await (ALTERS_TABLE.test(sql) ? steps.alterTable(execute) : execute());
    };
    Object.assign(queryRunner, { query });
    this.steps = steps;
  }

  /** @throws TypeORMError for a migration that was generated on another engine */
  private assertOwnEngine(sql: string): void {
    const [, engine] = MARK.exec(sql) ?? [];
    if (engine === undefined || engine === this.connection.options.type) return;
    throw new TypeORMError(
      `${this.runningMigration} was generated on another engine, ${engine}: write it by hand, with CreateTable or changeSchema(queryRunner), which suit each engine`,
    );
  }

  protected override async insertExecutedMigration(
    queryRunner: QueryRunner,
    migration: Migration,
  ): Promise<void> {
    await this.steps?.finish();
    // Only the last one leaves the tables that the entities describe. If it is refused, the next
    // start executes it again, and so checks the tables again.
    if (this.left.length === 1 && !this.fake) await assertKeys(this.queryRunner);
    await super.insertExecutedMigration(queryRunner, migration);
    this.left = this.left.slice(1);
  }

  protected override async deleteExecutedMigration(
    queryRunner: QueryRunner,
    migration: Migration,
  ): Promise<void> {
    await this.steps?.finish();
    await super.deleteExecutedMigration(queryRunner, migration);
  }
}
