import type { EntityMetadata, EntitySubscriberInterface } from 'typeorm';

/**
 * Checks that an entity has no methods that TypeORM calls for its own repository alone.
 *
 * @throws TypeError that names the method or the subscriber
 */
export function assertNotListened(metadata: EntityMetadata): void {
  const { name, listeners, connection } = metadata;
  const [listener] = listeners;
  const method = listener && `@${toPascalCase(listener.type)} of ${listener.propertyName}()`;
  const subscriber = connection.subscribers.find((one) => concernsRows(one, metadata));
  const subject = method ?? subscriber?.constructor.name;
  if (subject === undefined) return;
  throw new TypeError(
    `BatchedRepository would not call ${subject} for ${name}: use TypeORM's own repository for it, or compute the values in the service`,
  );
}

/** The methods of subscribers that TypeORM calls for rows. */
const ROW_EVENTS = /^(?:before|after)(?:Insert|Update|Remove|SoftRemove|Recover|Load)$/;

/** Whether a subscriber wants events of the rows of an entity. */
function concernsRows(subscriber: EntitySubscriberInterface, { target }: EntityMetadata): boolean {
  const listened = subscriber.listenTo?.();
  const isListed = listened === undefined || listened === Object || listened === target;
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(subscriber));
  return isListed && methods.some((name) => ROW_EVENTS.test(name));
}

/** Writes the name of a listener as its decorator has it: `before-insert` is BeforeInsert. */
function toPascalCase(name: string): string {
  return name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
}
