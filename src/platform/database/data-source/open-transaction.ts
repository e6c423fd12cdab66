import type { EntityManager, QueryResult } from 'typeorm';
import type { BulkStatements } from '../batching/bulk-table.js';

/** What statements need to be part of the manager's transaction. */
export function transactionOf({ queryRunner }: EntityManager): {
  query: <Row>(sql: string, parameters: readonly unknown[]) => Promise<Row[]>;
  savepoint: BulkStatements['savepoint'];
} {
  if (queryRunner?.isTransactionActive !== true) {
    throw new TypeError('This manager has no transaction: take the one that transaction() gives');
  }
  return {
    query: async <Row>(sql: string, parameters: readonly unknown[]) => {
      const result = (await queryRunner.query(sql, [...parameters], true)) as QueryResult<Row>;
      return result.records;
    },
    savepoint: async (work) => {
      await queryRunner.startTransaction();
      try {
        const result = await work();
        await queryRunner.commitTransaction();
        return result;
      } catch (error) {
        await queryRunner.rollbackTransaction();
        throw error;
      }
    },
  };
}
