import { type EntityManager, TypeORMError } from 'typeorm';
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js';
import { StoreEntityManager } from '../data-source/store-entity-manager.js';
import { trackTransaction } from './transaction-scope.js';

type Work<Result> = (manager: EntityManager) => Promise<Result>;

/**
 * TypeORM's manager. It tracks which code runs inside a transaction, to refuse writes there that
 * are not part of the transaction.
 */
export class StoreSqliteEntityManager extends StoreEntityManager {
  override transaction<Result>(work: Work<Result>): Promise<Result>;
  override transaction<Result>(isolation: IsolationLevel, work: Work<Result>): Promise<Result>;
  override async transaction<Result>(
    first: IsolationLevel | Work<Result>,
    second?: Work<Result>,
  ): Promise<Result> {
    const tracked =
      (work: Work<Result>): Work<Result> =>
      (manager) =>
        trackTransaction(() => work(manager));
    if (typeof first === 'function') return await super.transaction(tracked(first));
    if (second === undefined) throw new TypeORMError('A transaction needs a function');
    return await super.transaction(first, tracked(second));
  }
}
