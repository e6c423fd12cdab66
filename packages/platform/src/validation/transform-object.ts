import { HttpException, Logger } from '@nestjs/common';
import { TransformationType } from 'class-transformer';
import { TransformOperationExecutor } from 'class-transformer/cjs/TransformOperationExecutor.js';
import { StoreUnavailableError } from 'durable-store';
import { GIVEN_TWICE } from 'durable-store/json';
import { countValues } from './max-values.js';
import { isPatchClass } from './patch-class.js';

// This file depends on an internal of class-transformer: the class that makes an object of a class.
// It would set members that the class does not name, and stop at the first transform
// that throws, although a wrong value may be the reason.

/** An error that the code of a class has thrown while one of its members was set. */
interface Failure {
  readonly member: string;
  readonly error: unknown;
}

const failures = new WeakMap<object, Failure>();
const logger = new Logger('Validation');
/** The members of classes whose failures are in the log. */
const logged = new Set<string>();

/** Returns the names that the members of a class have in requests; undefined for other classes. */
type ListNames = (target: unknown) => ReadonlyMap<string, unknown> | undefined;

/** Whether a merge patch leaves a member as it is, or removes it: no transform is for that. */
export function isKeptByPatch(value: unknown, type: unknown): boolean {
  const isMissing = value === undefined || value === null;
  return isMissing && typeof type === 'function' && isPatchClass(type);
}

/** A run of class-transformer that keeps exact values, and runs all transforms. */
class Transformation extends TransformOperationExecutor {
  failure: Failure | undefined;

  constructor(private readonly listNames: ListNames) {
    super(TransformationType.PLAIN_TO_CLASS, {});
  }

  override transform(
    source: unknown,
    value: unknown,
    targetType: unknown,
    ...rest: unknown[]
  ): unknown {
    if (value === GIVEN_TWICE || typeof value === 'bigint') return value;
    return super.transform(source, value, targetType, ...rest);
  }

  override applyCustomTransformations(
    value: unknown,
    target: unknown,
    key: string,
    ...rest: unknown[]
  ): unknown {
    if (value === GIVEN_TWICE || isKeptByPatch(value, target)) return value;
    try {
      const result = super.applyCustomTransformations(value, target, key, ...rest);
      if (isThenable(result)) throw new TypeError('@Transform() must not return a promise');
      return result;
    } catch (error) {
      this.failure ??= { member: key, error };
      return value;
    }
  }

  override getKeys(target: unknown, object: object, isMap: boolean): string[] {
    const keys = super.getKeys(target, object, isMap);
    const names = this.listNames(target);
    if (names === undefined) return keys;
    // An @Expose() for answers alone would keep a member out of requests too.
    return [...names.keys()].filter((name) => keys.includes(name) || Object.hasOwn(object, name));
  }
}

/** Whether a value is a promise of any library, whose rejection is then of no interest. */
function isThenable(value: unknown): boolean {
  const { then } = (value ?? {}) as { readonly then?: unknown };
  if (typeof then !== 'function') return false;
  then.call(value, undefined, () => undefined);
  return true;
}

/** The objects whose values were too many. */
const tooLarge = new WeakSet<object>();

/** Whether an object was not made, since it would have too many values. */
export function isTooLarge(object: object): boolean {
  return tooLarge.has(object);
}

/**
 * Lets class-transformer set the members of an object, unless there are too many values.
 *
 * @param plain the values by their names in JSON
 */
export function transformObject(
  object: object,
  plain: object,
  maxValues: number,
  listNames: ListNames,
): void {
  if (countValues(plain, maxValues) > maxValues) {
    tooLarge.add(object);
    return;
  }
  const transformation = new Transformation(listNames);
  try {
    transformation.transform(object, plain, object.constructor);
  } catch (error) {
    // The constructor of a part, or a setter.
    transformation.failure ??= { member: object.constructor.name, error };
  }
  if (transformation.failure !== undefined) failures.set(object, transformation.failure);
}

/** Whether an object could not be made as its class says. */
export function hasFailed(object: object): boolean {
  return failures.has(object) || tooLarge.has(object);
}

/**
 * Explains the failure of the code of a class to a client, and logs it once for each member.
 *
 * @throws an error that has an answer of its own
 */
export function explainTransformFailure(object: object): string | undefined {
  const failure = failures.get(object);
  if (failure === undefined) return undefined;
  const { member, error } = failure;
  if (error instanceof HttpException || error instanceof StoreUnavailableError) throw error;
  const place = `${object.constructor.name}.${member}`;
  if (!logged.has(place)) logger.error(error);
  logged.add(place);
  return `${member} could not be read`;
}
