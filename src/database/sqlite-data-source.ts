import type { Database, Statement } from 'sqlite3';
import { DataSource } from 'typeorm';

/** A data source on SQLite that also keeps prepared statements, which TypeORM does not. */
export class SqliteDataSource extends DataSource {
  private readonly statements: Statement[] = [];

  prepare(sql: string): Statement {
    const { databaseConnection } = this.driver as unknown as { databaseConnection: Database };
    const statement = databaseConnection.prepare(sql);
    this.statements.push(statement);
    return statement;
  }

  /** SQLite does not close while a statement is prepared. */
  override async destroy(): Promise<void> {
    await Promise.all(
      this.statements
        .splice(0)
        .map((statement) => new Promise<void>((resolve) => statement.finalize(() => resolve()))),
    );
    await super.destroy();
  }
}
