import { expect, it } from '@jest/globals';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Session } from '../../packages/store/src/engine/engine.js';
import { Refusal } from '../../packages/store/src/batching/batch-queue.js';
import { EntityColumns } from '../../packages/store/src/entities/entity-columns.js';
import { TableSql } from '../../packages/store/src/batching/sql-builder.js';
import type { RowChange } from '../../packages/store/src/batching/row-changes.js';
import { writeRows } from '../../packages/store/src/batching/write-rows.js';
import { int64, text } from 'durable-rest';
import { useEntityStore } from '../support/store.js';

@Entity('beds')
class Bed {
  @PrimaryColumn(int64())
  id!: string;

  @Index({ unique: true })
  @Column(text())
  name!: string;
}

const store = useEntityStore([Bed]);

function create(id: number, name: string): RowChange<string> {
  const values = [String(id), name];
  return {
    operation: 'create',
    key: String(id),
    values,
    direct: { kind: 'insert', getOutcome: () => 'created' },
    decide: () => ({ outcome: 'created', write: values }),
  };
}

/** Counts the statements of a session, and those that begin and end its transactions. */
function countStatements(session: Session): { readonly session: Session; count: number } {
  const counted = { session, count: 0 };
  counted.session = new Proxy(session, {
    get(target, name, receiver): unknown {
      if (name === 'query' || name === 'control') counted.count++;
      return Reflect.get(target, name, receiver);
    },
  });
  return counted;
}

it.each([
  [0, 1],
  [1, 20],
  [8, 75],
  [64, 135],
])('of 64 rows %d are refused, which takes at most %d statements', async (refused, most) => {
  const { dialect, errors, entityMetadatas, pools } = store.dataSource;
  await store.dataSource.getRepository(Bed).insert({ id: '1000', name: 'taken' });
  const sql = new TableSql(new EntityColumns(store.dataSource.getMetadata(Bed)), dialect);
  const isRefused = (place: number): boolean => (place * refused) % 64 < refused;
  const places = Array.from({ length: 64 }, (_, place) => place);
  const changes = places.map((place) => create(place, isRefused(place) ? 'taken' : `bed ${place}`));
  const session = await pools.writers.acquire();
  const counted = countStatements(session);
  const results = await writeRows(sql, errors, entityMetadatas)
    .execute(counted.session, changes)
    .finally(() => session.release(false));
  expect(results.filter((result) => result instanceof Refusal)).toHaveLength(refused);
  expect(results.filter((result) => result === 'created')).toHaveLength(64 - refused);
  expect(counted.count).toBeLessThanOrEqual(most);
});
