import {
  EntityManager,
  type EntityTarget,
  type FindOptionsWhere,
  type ObjectLiteral,
  TypeORMError,
} from 'typeorm';
import type { PickKeysByType } from 'typeorm/common/PickKeysByType.js';

/** The arguments of an aggregate: an entity, a property of numbers, and conditions. */
type Aggregate<Row extends ObjectLiteral> = [
  target: EntityTarget<Row>,
  property: PickKeysByType<Row, number>,
  where?: FindOptionsWhere<Row> | FindOptionsWhere<Row>[],
];

/**
 * TypeORM's manager, but it refuses to round an aggregate of int64 values to a JavaScript number.
 */
export class StoreEntityManager extends EntityManager {
  override async sum<Row extends ObjectLiteral>(...args: Aggregate<Row>): Promise<number | null> {
    return this.assertExact(await super.sum(...args), ...args);
  }

  override async minimum<Row extends ObjectLiteral>(
    ...args: Aggregate<Row>
  ): Promise<number | null> {
    return this.assertExact(await super.minimum(...args), ...args);
  }

  override async maximum<Row extends ObjectLiteral>(
    ...args: Aggregate<Row>
  ): Promise<number | null> {
    return this.assertExact(await super.maximum(...args), ...args);
  }

  private assertExact<Row extends ObjectLiteral>(
    value: number | null,
    ...[target, property]: Aggregate<Row>
  ): number | null {
    const metadata = this.connection.getMetadata(target);
    const column = metadata.findColumnWithPropertyName(property);
    if (value === null || Number.isSafeInteger(value) || column?.type !== 'bigint') return value;
    throw new TypeORMError(
      `${metadata.tableName}.${column.databaseName} gives what a JavaScript number cannot hold: select it with a query builder, as text`,
    );
  }
}
