import {
  EntityManager,
  type EntityTarget,
  type FindOptionsWhere,
  type ObjectLiteral,
  TypeORMError,
} from 'typeorm';
import type { PickKeysByType } from 'typeorm/common/PickKeysByType.js';

/** The columns of a kind of number, and what is to be looked at of the rows. */
type Aggregate<Row extends ObjectLiteral> = [
  target: EntityTarget<Row>,
  property: PickKeysByType<Row, number>,
  where?: FindOptionsWhere<Row> | FindOptionsWhere<Row>[],
];

/** TypeORM's manager, which rounds no int64 in silence: it makes a number of every aggregate. */
export class StoreEntityManager extends EntityManager {
  override async sum<Row extends ObjectLiteral>(...of: Aggregate<Row>): Promise<number | null> {
    return this.exact(await super.sum(...of), ...of);
  }

  override async minimum<Row extends ObjectLiteral>(...of: Aggregate<Row>): Promise<number | null> {
    return this.exact(await super.minimum(...of), ...of);
  }

  override async maximum<Row extends ObjectLiteral>(...of: Aggregate<Row>): Promise<number | null> {
    return this.exact(await super.maximum(...of), ...of);
  }

  private exact<Row extends ObjectLiteral>(
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
