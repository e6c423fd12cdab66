import type { Type } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import {
  type ConstraintAnswer,
  readConstraintAnswers,
  setConstraintRules,
} from '../store/constraint-rules.js';

/** The constraints of one entity, with the errors for them. */
interface DeclaredAnswers {
  readonly entity: Type;
  readonly answers: readonly ConstraintAnswer[];
}

const METADATA = 'durable-rest:constraint-errors';

/**
 * Declares the errors that requests get for violated constraints of an entity, whatever code writes
 * to its table. A violation without one gets 40999. It is for one controller of the entity.
 *
 * The start is refused for a constraint that the entity does not have, or that not every engine can
 * tell from another one.
 *
 * @param answers name each constraint by its name, or by its kind and its properties. The kind
 *   `referenced` is the removal of a row that rows of other tables refer to
 * @example
 * ```ts
 * @ConstraintErrors(
 *   Planting,
 *   { kind: 'foreign key', properties: ['varietyId'], error: PlantingErrors.NO_SUCH_VARIETY },
 *   { constraint: 'plantings_place', error: PlantingErrors.KEY_IN_USE },
 * )
 * @Controller('plantings')
 * class PlantingsController {}
 * ```
 */
export function ConstraintErrors<Row extends object>(
  entity: Type<Row>,
  ...answers: ConstraintAnswer<keyof Row & string>[]
): ClassDecorator {
  return (controller) => {
    const others = listAnswers(controller);
    Reflect.defineMetadata(METADATA, [...others, { entity, answers }], controller);
  };
}

function listAnswers(controller: object): DeclaredAnswers[] {
  return (Reflect.getOwnMetadata(METADATA, controller) ?? []) as DeclaredAnswers[];
}

/**
 * Sets the errors of an application's store.
 *
 * @throws TypeError for a constraint that cannot be recognized, or an entity with the errors of two
 *   decorators
 */
export function setConstraintErrors(store: DataSource, controllers: readonly object[]): void {
  const entities = new Set<Type>();
  for (const { entity, answers } of controllers.flatMap(listAnswers)) {
    if (entities.has(entity)) {
      throw new TypeError(`Two @ConstraintErrors() are for ${entity.name}: write one`);
    }
    entities.add(entity);
    const metadata = store.getMetadata(entity);
    setConstraintRules(metadata, readConstraintAnswers(metadata, answers));
  }
}
