import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import type { PropertyRules } from './dto-rules.js';

/** Values that class-transformer must not change. */
const SCALARS = ['', '0', 'true', ' Aa 1 ', 0, -1.5, true, false, null];

/**
 * Finds the class that `@Type()` gives to a member; undefined without one. class-transformer does
 * not expose its decorators, so this transforms sample values and compares the results.
 *
 * @throws TypeError when it changes a value in another way, which requests do not support
 */
export function findNestedType(type: Type<object>, member: string): Type<object> | undefined {
  const transform = (value: unknown): unknown =>
    (plainToInstance(type, { [member]: value }) as Record<string, unknown>)[member];
  try {
    const nested = transform({});
    const [element] = transform([{}]) as unknown[];
    const found = (nested as object).constructor as Type<object>;
    const isSame = element instanceof found && element.constructor === found;
    if (isSame && SCALARS.every((value) => Object.is(transform(value), value))) {
      return found === Object ? undefined : found;
    }
  } catch {
    // class-transformer fails for one of the values, so it does not leave it unchanged.
  }
  throw new TypeError(
    `of class-transformer only @Type(() => AClass) counts here, with @ValidateNested(): values are not converted`,
  );
}

/** The types of the values that the rules of class-validator accept. */
const TYPES_BY_RULE = new Map<string, unknown>([
  ['isBoolean', Boolean],
  ...['isInt', 'isNumber', 'min', 'max'].map((name) => [name, Number] as const),
  ...['isString', 'isUuid', 'isEmail', 'isUrl', 'matches'].map((name) => [name, String] as const),
  ...['minLength', 'maxLength', 'isLength'].map((name) => [name, String] as const),
]);

/**
 * Finds the class that a member is declared as; `Object` if that is unknown. Its rules take
 * precedence, since compilers record unions, such as those with null, differently.
 */
export function getMemberType(
  type: Type<object>,
  name: string,
  { rules, valueType, isNestedList }: PropertyRules,
): unknown {
  if (isNestedList || rules.some(({ each }) => each)) return Array;
  if (valueType !== undefined) return valueType.type.valueClass;
  const known = getRuleType(rules);
  if (known !== undefined) return known;
  const recorded: unknown = Reflect.getMetadata('design:type', type.prototype as object, name);
  if (recorded !== undefined && recorded !== Object) return recorded;
  return getInitialType(type, name) ?? Object;
}

function getRuleType(rules: PropertyRules['rules']): unknown {
  return rules
    .map(({ name, constraints }) => TYPES_BY_RULE.get(name) ?? getWordType(name, constraints))
    .find((type) => type !== undefined);
}

function getInitialType(type: Type<object>, name: string): unknown {
  const initial = (new type() as Record<string, unknown>)[name];
  return initial === undefined || initial === null ? undefined : initial.constructor;
}

/**
 * Whether only the compiler's metadata tells the type of a member. Compilers record imported unions
 * differently.
 */
export function isTypeUncertain(
  type: Type<object>,
  name: string,
  { rules, valueType }: PropertyRules,
): boolean {
  if (valueType !== undefined || getRuleType(rules) !== undefined) return false;
  return getInitialType(type, name) === undefined;
}

/** Returns the type of the words that @IsIn() or @IsEnum() lists. */
function getWordType(rule: string, [first, second]: readonly unknown[]): unknown {
  const words = rule === 'isIn' ? first : rule === 'isEnum' ? second : undefined;
  if (!Array.isArray(words) || words.length === 0) return undefined;
  if (words.every((word) => typeof word === 'string')) return String;
  return words.every((word) => typeof word === 'number') ? Number : undefined;
}
