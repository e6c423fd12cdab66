import { DataSource } from 'typeorm';
import type { StoreDataSource } from '../../packages/store/src/engine/store-data-source.js';
import type { PlantsApplication } from './plants-application.js';

/**
 * Explains each statement that reads pages before it is executed. Returns the plans so far, each the
 * rows that the engine gives.
 *
 * @param explain the beginning of the statement that explains another one
 */
export function explainPages<Row>(app: PlantsApplication, explain: string): Row[][] {
  const plans: Row[][] = [];
  const { pageReaders } = app.nest.get<StoreDataSource>(DataSource).pools;
  const acquire = pageReaders.acquire.bind(pageReaders);
  pageReaders.acquire = async () => {
    const session = await acquire();
    const query = session.query.bind(session);
    session.query = async (statement, parameters) => {
      const explained = { name: `explain ${statement.name}`, text: `${explain} ${statement.text}` };
      plans.push(await query<Row>(explained, parameters));
      return await query(statement, parameters);
    };
    return session;
  };
  return plans;
}
