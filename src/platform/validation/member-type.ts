import type { Type } from '@nestjs/common';
import type { PropertyRules } from './rules.js';

/** The values that a member may have by its type alone. */
export interface Kind {
  /** Completes the sentence "it must be". */
  readonly text: string;
  readonly has: (value: unknown) => boolean;
}

const SCALARS = new Map<unknown, Kind>([
  [String, { text: 'a string', has: (value) => typeof value === 'string' }],
  [Number, { text: 'a number', has: (value) => typeof value === 'number' }],
  [Boolean, { text: 'a boolean', has: (value) => typeof value === 'boolean' }],
  [BigInt, { text: 'an integer', has: (value) => typeof value === 'bigint' }],
]);
const ARRAY: Kind = { text: 'an array', has: Array.isArray };
const ANYTHING: Kind = { text: 'given', has: (value) => value !== undefined };

/** The rules that a value of one type alone can keep. */
const TYPES_BY_RULE = new Map<string, unknown>([
  ['isBoolean', Boolean],
  ['isInt', Number],
  ['isInt64', BigInt],
  ['isNumber', Number],
  ['isString', String],
  ['isText', String],
]);

/**
 * The class that a member is declared as, `Object` where it cannot be known. It is what the compiler
 * records of a written type; of a union, such as that with null, compilers record different things.
 */
export function typeOfMember(type: Type<object>, name: string, rules: PropertyRules): unknown {
  const recorded: unknown = Reflect.getMetadata('design:type', type.prototype as object, name);
  if (recorded !== undefined && recorded !== Object) return recorded;
  const initial = (new type() as Record<string, unknown>)[name];
  if (initial !== undefined && initial !== null) return initial.constructor;
  const rule = rules.rules.find((one) => TYPES_BY_RULE.has(one.name));
  if (rules.isNestedList || rule?.each === true) return Array;
  return rule === undefined ? Object : TYPES_BY_RULE.get(rule.name);
}

export function isScalar(type: unknown): boolean {
  return SCALARS.has(type);
}

/** @param nestedType the class of a member with `@ValidateNested()` */
export function kindOf(type: unknown, nestedType: Type<object> | undefined): Kind {
  if (type === Array) return ARRAY;
  if (nestedType === undefined) return SCALARS.get(type) ?? ANYTHING;
  return { text: 'an object', has: (value) => value instanceof nestedType };
}
