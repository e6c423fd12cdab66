const RECORDED_NAME = Symbol('recorded name');

/**
 * Records every change of a row in the feed of changes, where the feed is on. A change shows the row as
 * a page does: the properties of the entity by their names, without those that are null.
 *
 * @param name what a row is called: the changes are `<name>.created`, `.replaced` and `.removed`
 */
export function RecordChanges(name: string): ClassDecorator {
  return (target) => Reflect.defineMetadata(RECORDED_NAME, name, target);
}

/** What a row of an entity is called in the feed of changes; undefined where none is recorded. */
export function getRecordedName(entity: unknown): string | undefined {
  return typeof entity === 'function'
    ? (Reflect.getMetadata(RECORDED_NAME, entity) as string | undefined)
    : undefined;
}
