const RECORDED_NAME = Symbol('recorded name');

/**
 * Records every change of a row in the feed of changes, if CHANGE_FEED is on. A change contains the
 * row as a page does: the properties of the entity by their names, without null.
 *
 * @param name the name of a row: the types of changes are `<name>.created`, `.replaced`, `.removed`
 * @example
 * ```ts
 * @Entity('beds')
 * @RecordChanges('bed')
 * class Bed {
 *   @PrimaryColumn(uuid())
 *   id!: string;
 * }
 * ```
 */
export function RecordChanges(name: string): ClassDecorator {
  return (target) => Reflect.defineMetadata(RECORDED_NAME, name, target);
}

/** Returns the name of an entity's rows in the feed of changes; undefined if none are recorded. */
export function getRecordedName(entity: unknown): string | undefined {
  return typeof entity === 'function'
    ? (Reflect.getMetadata(RECORDED_NAME, entity) as string | undefined)
    : undefined;
}
