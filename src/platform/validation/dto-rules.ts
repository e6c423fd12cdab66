import type { Type } from '@nestjs/common';
import { getMetadataStorage, type ValidationArguments, ValidationTypes } from 'class-validator';
import type { ValueType } from './value-types.js';

type Metadata = ReturnType<
  ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']
>[number];
type Constraint = ReturnType<
  ReturnType<typeof getMetadataStorage>['getTargetValidatorConstraints']
>[number]['instance'];

/** One rule of a property, from a decorator of class-validator. */
export interface Rule {
  /** The name in class-validator: `isInt`, `min`, ... */
  readonly name: string;
  /** The arguments of the decorator. */
  readonly constraints: readonly unknown[];
  /** Whether it applies to each element of an array. */
  readonly each: boolean;
  readonly metadata: Metadata;
  readonly constraint: Constraint;
}

/** A type of values that comes from a decorator. */
interface GivenType {
  readonly type: ValueType;
  /** Whether the member is an array of such values. */
  readonly each: boolean;
  readonly decorator: string;
}

/** The name of rules that read other members of an object. */
export const WHOLE_OBJECT_RULE = 'satisfies';

/** The rules of class-validator for the type of a value. */
const TYPE_RULES = new Set(['isBoolean', 'isInt', 'isNumber', 'isString']);

/** The rules of one property. */
export class PropertyRules {
  readonly rules: readonly Rule[];
  /** Whether a condition, such as `@IsOptional()`, may switch the rules off. */
  readonly isConditional: boolean;
  /** Whether it has `@ValidateNested()`. */
  readonly isNested: boolean;
  /** Whether it has `@ValidateNested({ each: true })`. */
  readonly isNestedList: boolean;
  /** The type of the values, if a decorator of this project gives it. */
  readonly valueType: GivenType | undefined;
  private readonly conditions: readonly ((object: object, value: unknown) => boolean)[];

  /**
   * @param declared the class that the compiler has recorded
   * @param isOfPatch whether the class is a merge patch, whose members may be missing
   * @throws TypeError for a rule that is not supported
   */
  constructor(
    metadata: readonly Metadata[],
    readonly declared: unknown,
    isOfPatch: boolean,
  ) {
    const selectByType = (type: string): Metadata[] =>
      metadata.filter((rule) => rule.type === type);
    this.rules = [
      ...selectByType(ValidationTypes.IS_DEFINED),
      ...selectByType(ValidationTypes.CUSTOM_VALIDATION),
    ]
      .flatMap((rule) => readDecorator(rule))
      .filter(({ name }) => !isOfPatch || name !== WHOLE_OBJECT_RULE);
    this.valueType = this.rules.map(toGivenType).find((type) => type !== undefined);
    this.conditions = selectByType(ValidationTypes.CONDITIONAL_VALIDATION).map(
      ({ constraints }) => constraints[0] as (object: object, value: unknown) => boolean,
    );
    this.isConditional = this.conditions.length > 0;
    const nested = selectByType(ValidationTypes.NESTED_VALIDATION);
    this.isNested = nested.length > 0;
    this.isNestedList = nested.some(({ each }) => each);
    const [promised] = selectByType(ValidationTypes.PROMISE_VALIDATION);
    if (promised !== undefined)
      throw new TypeError(`@ValidatePromise() of ${promised.propertyName} is not run`);
  }

  /** Whether the rules apply to a value. */
  applies(object: object, value: unknown): boolean {
    return this.conditions.every((holds) => holds(object, value));
  }

  pass(object: object, value: unknown): boolean {
    return this.rules.every((rule) => passes(rule, object, value));
  }

  /**
   * Describes the errors of a value, which they name by its path. What other rules say of a value of
   * a wrong type may be untrue.
   */
  describe(object: object, value: unknown, path: string): string[] {
    const broken = this.rules.filter((rule) => !passes(rule, object, value));
    const ofType = broken.filter((rule) => TYPE_RULES.has(rule.name) || toGivenType(rule));
    return (ofType.length > 0 ? ofType : broken).map((rule) =>
      writeMessage(rule, new RuleArguments(rule.metadata, object, value), path),
    );
  }
}

/**
 * Reads the rules of a class and of its base classes, by property. This project runs them itself.
 * The validation of class-validator costs more than all other work on a valid request, and far more
 * on an invalid one.
 *
 * @throws TypeError for a rule that is not supported
 */
export function getRules(
  type: Type<object>,
  isOfPatch = false,
): ReadonlyMap<string, PropertyRules> {
  const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const names = new Set(metadata.map(({ propertyName }) => propertyName));
  return new Map(
    [...names].map((name) => {
      const own = metadata.filter(({ propertyName }) => propertyName === name);
      const declared: unknown = Reflect.getMetadata('design:type', type.prototype as object, name);
      return [name, new PropertyRules(own, declared, isOfPatch)];
    }),
  );
}

function readDecorator(metadata: Metadata): Rule[] {
  return getMetadataStorage()
    .getTargetValidatorConstraints(metadata.constraintCls)
    .map(({ name, async, instance: constraint }) => {
      if (async) {
        throw new TypeError(
          `the rule ${name} of ${metadata.propertyName} is asynchronous: check it in the service`,
        );
      }
      const constraints = (metadata.constraints as unknown[] | undefined) ?? [];
      return { name, constraints, each: metadata.each, metadata, constraint };
    });
}

function passes(rule: Rule, object: object, value: unknown): boolean {
  const { metadata, each } = rule;
  if (metadata.validateIf?.(object, value) === false) return true;
  const args = new RuleArguments(rule.metadata, object, value);
  return each && Array.isArray(value)
    ? value.every((element) => isValid(rule, element, args))
    : isValid(rule, value, args);
}

/** A rule that throws rejects the value. */
function isValid({ name, constraint }: Rule, value: unknown, args: ValidationArguments): boolean {
  let result: boolean | Promise<boolean>;
  try {
    result = constraint.validate(value, args);
  } catch {
    return false;
  }
  if (result instanceof Promise) throw new TypeError(`the rule ${name} answers with a promise`);
  return result;
}

function toGivenType({ name, constraints: [type], each }: Rule): GivenType | undefined {
  if (typeof type !== 'object' || type === null || !('readParameter' in type)) return undefined;
  const decorator = name.replace('is', 'Is');
  return { type: type as ValueType, each, decorator };
}

/** The arguments of rules and messages. */
class RuleArguments implements ValidationArguments {
  constructor(
    private readonly metadata: Metadata,
    readonly object: object,
    readonly value: unknown,
  ) {}

  get property(): string {
    return this.metadata.propertyName;
  }

  get constraints(): unknown[] {
    return this.metadata.constraints as unknown[];
  }

  /**
   * A getter, since most rules do not use it: finding the name of a class takes V8 as long as a
   * rule.
   */
  get targetName(): string {
    return this.object.constructor.name;
  }
}

/**
 * Replaces the tokens that class-validator documents for messages: `$property`, `$value`,
 * `$constraint1`, ...
 */
function writeMessage(rule: Rule, args: ValidationArguments, path: string): string {
  const { metadata, constraint, constraints } = rule;
  const value: unknown = args.value;
  const values = new Map<string, unknown>([
    ['property', path],
    ['target', args.targetName],
    ...constraints.map((one, index) => [`constraint${index + 1}`, toText(one)] as const),
    ...(isPrintable(value) ? [['value', value] as const] : []),
  ]);
  let text: string;
  try {
    const message = metadata.message || (constraint.defaultMessage?.(args) ?? '');
    text = typeof message === 'function' ? message(args) : message;
  } catch {
    text = '$property is not valid';
  }
  return text.replaceAll(/\$(property|target|value|constraint\d+)/g, (token, name: string) =>
    values.has(name) ? String(values.get(name)) : token,
  );
}

function isPrintable(value: unknown): boolean {
  return ['string', 'boolean', 'number'].includes(typeof value);
}

function toText(constraint: unknown): string {
  return Array.isArray(constraint) ? constraint.join(', ') : String(constraint);
}
