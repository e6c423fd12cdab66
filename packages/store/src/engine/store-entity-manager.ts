import { AsyncLocalStorage } from 'node:async_hooks';
import { EntityManager } from 'typeorm';
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js';
import { Sequence } from './sequence.js';

/** A nested transaction that the running code is inside of. */
interface NestedTransaction {
  readonly manager: EntityManager;
  /** The transactions that are nested in this one. */
  readonly nested: Sequence;
  /** The nested transaction around this one, perhaps of another manager. */
  readonly around: NestedTransaction | undefined;
}

const running = new AsyncLocalStorage<NestedTransaction>();

type Work<Result> = (manager: EntityManager) => Promise<Result>;

/**
 * TypeORM's manager. It begins nested transactions one after another, and ends a transaction after
 * those that are nested in it. TypeORM knows savepoints by their depth alone: the end of one would
 * end or undo another one that is open beside it.
 */
export class StoreEntityManager extends EntityManager {
  /** The transactions that are nested directly in the transaction of this manager. */
  private readonly nested = new Sequence();

  override async transaction<Result>(
    isolationOrWork: IsolationLevel | Work<Result>,
    workAfterIsolation?: Work<Result>,
  ): Promise<Result> {
    const hasIsolation = typeof isolationOrWork === 'string';
    const work = hasIsolation ? workAfterIsolation : isolationOrWork;
    // TypeORM refuses the call.
    if (work === undefined) return await super.transaction(isolationOrWork as Work<Result>);
    const begin = (finished: Work<Result>): Promise<Result> =>
      hasIsolation ? super.transaction(isolationOrWork, finished) : super.transaction(finished);
    if (this.queryRunner?.isTransactionActive === true) return await this.nest(work, begin);
    return await begin((manager) =>
      finish(() => work(manager), (manager as StoreEntityManager).nested),
    );
  }

  /** @param begin begins a transaction for work */
  private async nest<Result>(
    work: Work<Result>,
    begin: (work: Work<Result>) => Promise<Result>,
  ): Promise<Result> {
    const around = running.getStore();
    const siblings = this.findOwn(around)?.nested ?? this.nested;
    const own = { manager: this, nested: new Sequence(), around };
    return await siblings.execute(() =>
      running.run(own, () => begin((manager) => finish(() => work(manager), own.nested))),
    );
  }

  /** Finds the innermost nested transaction of this manager that the running code is inside of. */
  private findOwn(innermost: NestedTransaction | undefined): NestedTransaction | undefined {
    let found = innermost;
    while (found !== undefined && found.manager !== this) found = found.around;
    return found;
  }
}

/** Executes the work of a transaction, and then waits for the transactions that are nested in it. */
async function finish<Result>(work: () => Promise<Result>, nested: Sequence): Promise<Result> {
  try {
    return await work();
  } finally {
    await nested.end();
  }
}
