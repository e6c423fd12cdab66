import { Injectable, type Type } from '@nestjs/common';
import { DataSource, type ObjectLiteral } from 'typeorm';
import { BatchedRepository, type RepositoryOptions } from './batched-repository.js';

/**
 * Makes the class of the repository of an entity, a provider: `class PlantsRepository extends
 * BatchedRepositoryOf(Plant) {}`.
 */
export function BatchedRepositoryOf<Row extends ObjectLiteral>(
  entity: Type<Row>,
  options?: RepositoryOptions<Row>,
): Type<BatchedRepository<Row>> {
  @Injectable()
  class EntityRepository extends BatchedRepository<Row> {
    constructor(store: DataSource) {
      super(store.getRepository(entity), options);
    }
  }
  return EntityRepository;
}
