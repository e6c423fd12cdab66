import { TransformationType } from 'class-transformer';
import { GIVEN_TWICE, JsonNumber, SCALAR, type Shape } from 'durable-store/json';
import { readNumber } from './exact-values.js';
import { listElements } from './rules.js';
import type { MemberTransforms } from './transforms.js';

// Runs the decorators of class-transformer on requests. Its own functions would copy each value, and
// so lose the class or the digits of an exact number.

/** A member of a class that requests are read as. */
export interface TransformedMember extends MemberTransforms {
  readonly name: string;
}

/** What transforms and setters have thrown, by the objects that were read. */
const failures = new WeakMap<object, Failure>();

interface Failure {
  readonly error: unknown;
}

/** Returns what the code of a class has thrown while the object was read; undefined if nothing. */
export function getFailure(object: object): Failure | undefined {
  return failures.get(object);
}

/** Keeps what the code of a class has thrown while the object was read. */
export function keepFailure(object: object, error: unknown): void {
  failures.set(object, { error });
}

/** Sets the members of an object from the values that were sent, by their names in JSON. */
export function assignTransformed(
  object: Record<string, unknown>,
  members: readonly TransformedMember[],
  sentValues: ReadonlyMap<string, unknown>,
  isPatch: boolean,
): void {
  let plain: unknown;
  for (const member of members) {
    const { name, jsonName, transforms } = member;
    const sent = sentValues.get(jsonName);
    if (sent === undefined && (isPatch || !member.isAlwaysTransformed)) continue;
    let value = sent;
    try {
      // In a patch, null removes a member.
      const isRemoval = isPatch && sent === null;
      if (sent !== GIVEN_TWICE && transforms.length > 0 && !isRemoval) {
        plain ??= toValue(sentValues);
        value = transform(member, sent, plain);
      }
      if (value !== undefined || sent !== undefined) object[name] = value;
    } catch (error) {
      keepFailure(object, error);
      // The rules say what is wrong with it.
      if (!member.hasSetter) object[name] = value;
    }
  }
}

/**
 * Runs the functions of `@Transform()`.
 *
 * @param obj the object that was sent
 * @throws what they throw
 */
export function transform(member: TransformedMember, value: unknown, obj: unknown): unknown {
  let transformed = value;
  for (const run of member.transforms) {
    const params = { key: member.name, obj, type: TransformationType.PLAIN_TO_CLASS, options: {} };
    transformed = run({ ...params, value: transformed });
  }
  if (!isThenable(transformed)) return transformed;
  transformed.then(undefined, () => undefined);
  throw new TypeError(`${member.name}: a function of @Transform() must not return a promise`);
}

/** Whether a value is a promise of any library. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
}

/** Whether the transforms of a list take a text such as "a,b", and no array. */
export function takesText(member: TransformedMember): boolean {
  if (member.transforms.length === 0) return false;
  const makesList = (value: unknown): boolean => {
    try {
      return listElements(transform(member, value, {})) !== undefined;
    } catch {
      return false;
    }
  };
  return makesList('a') && !makesList(['a']);
}

/** Converts JSON that was read as a whole as if it had been read with this shape. */
export function reshape(json: unknown, shape: Shape): unknown {
  if (json === GIVEN_TWICE) return json;
  if (Array.isArray(json)) {
    return shape.convert(json.map((element) => reshape(element, shape.elements ?? SCALAR)));
  }
  if (!(json instanceof Map)) return shape.convert(json);
  const members = Array.from(
    json as ReadonlyMap<string, unknown>,
    ([name, value]) => [name, reshape(value, shape.getMember(name) ?? SCALAR)] as const,
  );
  return shape.convert(new Map(members));
}

/** Converts JSON to values of JavaScript. An integer that a double would round becomes a bigint. */
export function toValue(json: unknown): unknown {
  if (json instanceof JsonNumber) return readNumber(json);
  if (json === GIVEN_TWICE) return undefined;
  if (Array.isArray(json)) return json.map(toValue);
  if (!(json instanceof Map)) return json;
  const members = json as ReadonlyMap<string, unknown>;
  return Object.fromEntries(Array.from(members, ([name, value]) => [name, toValue(value)]));
}
