import type { Type } from '@nestjs/common';
import {
  getMetadataStorage,
  IS_OPTIONAL,
  isNumber,
  type IsNumberOptions,
  ValidationTypes,
} from 'class-validator';
import { isMap, isSet } from 'node:util/types';
import { describeRule, type JsonSchema } from './schemas.js';
import { isValueType, type ValueType, WHOLE_OBJECT_RULE } from './types.decorators.js';

type Storage = ReturnType<typeof getMetadataStorage>;
type Metadata = ReturnType<Storage['getTargetValidationMetadatas']>[number];
type Constraint = ReturnType<Storage['getTargetValidatorConstraints']>[number];

/** The rules of a member of a class, from the decorators of class-validator. */
export interface MemberRules {
  readonly rules: Rule[];
  /** Such as that of `@IsOptional()`. If one does not hold, no rule applies. */
  readonly conditions: ((object: object, value: unknown) => boolean)[];
  /** Whether a value may have no rule that applies, other than null, as with `@ValidateIf()`. */
  isConditional: boolean;
  /** Whether it has `@ValidateNested()`. */
  isNested: boolean;
  /** Whether a decorator has `each: true`. */
  hasEach: boolean;
}

/** Reads the rules of a class and of its base classes, by member. */
export function readRules(type: Type<object>): ReadonlyMap<string, MemberRules> {
  const storage = getMetadataStorage();
  const members = new Map<string, MemberRules>();
  for (const metadata of storage.getTargetValidationMetadatas(type, '', false, false)) {
    const { propertyName: name, type: kind, each, constraintCls } = metadata;
    const member = members.get(name) ?? {
      rules: [],
      conditions: [],
      isConditional: false,
      isNested: false,
      hasEach: false,
    };
    members.set(name, member);
    if (each) member.hasEach = true;
    if (kind === ValidationTypes.NESTED_VALIDATION) member.isNested = true;
    if (kind === ValidationTypes.CONDITIONAL_VALIDATION) {
      member.conditions.push(metadata.constraints[0] as MemberRules['conditions'][number]);
      if (metadata.name !== IS_OPTIONAL) member.isConditional = true;
    }
    if (metadata.validateIf) member.isConditional = true;
    const constraints = storage.getTargetValidatorConstraints(constraintCls);
    const rules = constraints.map((constraint) => new Rule(metadata, constraint, type.name));
    member.rules.push(...rules);
  }
  return members;
}

/** How rules about numbers compare a value with their limit. */
const COMPARISONS: Readonly<Record<string, (value: bigint, limit: number) => boolean>> = {
  min: (value, limit) => value >= limit,
  max: (value, limit) => value <= limit,
  isPositive: (value) => value > 0,
  isNegative: (value) => value < 0,
};

/** The rules that accept only JavaScript numbers. */
const NUMBER_RULES = new Set(['isInt', 'isNumber', 'isDivisibleBy']);

/** The rules that compare a value, which must be of the type of its member. */
const COMPARING_RULES = new Set([...Object.keys(COMPARISONS), 'isDivisibleBy', WHOLE_OBJECT_RULE]);

function countDecimalPlaces(value: number): number {
  if (Number.isInteger(value)) return 0;
  const [digits = '', exponent = '0'] = String(value).split('e-');
  return (digits.split('.')[1] ?? '').length + Number(exponent);
}

/** A decorator of class-validator on a member. */
export class Rule {
  /** The name in class-validator: `isInt`, `min`, ... */
  readonly name: string;
  /** The arguments of the decorator. */
  readonly constraints: unknown[];
  /** Whether it applies to each element of an array. */
  readonly each: boolean | undefined;
  /** The type of this project that the rule is for. */
  readonly valueType: ValueType | undefined;
  readonly schema: JsonSchema;
  /** Whether its author has written the text about a value that it refuses. */
  readonly hasOwnText: boolean;

  constructor(
    private readonly metadata: Metadata,
    private readonly constraint: Constraint,
    private readonly targetName: string,
  ) {
    this.name = constraint.name;
    this.constraints = (metadata.constraints as unknown[] | undefined) ?? [];
    this.each = metadata.each;
    this.valueType = this.constraints.find(isValueType);
    this.hasOwnText = Boolean(metadata.message);
    this.schema = this.valueType?.schema ?? describeRule(this.name, this.constraints);
    if (this.name === 'isNumber') this.countDecimalPlaces();
  }

  /** Makes the rule count the decimal places of 1e-7, for which class-validator throws. */
  private countDecimalPlaces(): void {
    const { maxDecimalPlaces, ...options } = (this.constraints[0] ?? {}) as IsNumberOptions;
    if (maxDecimalPlaces === undefined) return;
    this.constraint.instance.validate = (value: unknown) =>
      isNumber(value, options) && countDecimalPlaces(value) <= maxDecimalPlaces;
  }

  /**
   * Lets a rule that compares the value judge only values of the type of the member. The rule of the
   * type says what is wrong with another value.
   *
   * @throws TypeError when it cannot compare values of the type
   */
  judgeOnly({ isValid, scaled }: ValueType): void {
    const { name, constraint } = this;
    if (scaled !== undefined && NUMBER_RULES.has(name)) {
      throw new TypeError(
        `the rule ${name} accepts only JavaScript numbers: leave it out, or write @Satisfies()`,
      );
    }
    if (!COMPARING_RULES.has(name)) return;
    const { instance } = constraint;
    // Derived classes have the same instance, so its own function may be replaced already.
    const original = Object.getPrototypeOf(instance) as typeof instance;
    const compare = scaled && this.createComparison(scaled);
    instance.validate = (value, args) => {
      if (!isValid(value)) return true;
      if (compare !== undefined) return compare(value);
      return original.validate.call(instance, value, args);
    };
  }

  /**
   * Returns what class-validator's rule about numbers says of values that are not JavaScript numbers;
   * undefined for another rule.
   */
  private createComparison({
    scale,
    read,
  }: NonNullable<ValueType['scaled']>): ((value: unknown) => boolean) | undefined {
    const compare = COMPARISONS[this.name];
    if (compare === undefined) return undefined;
    const { 0: given = 0 } = this.constraints;
    // Exact for what a double can hold, unlike a product.
    const limit = Number(`${String(given)}e${scale}`);
    if (Number.isNaN(limit)) throw new TypeError(`the limit ${String(given)} is too large`);
    return (value) => compare(read(value), limit);
  }

  /**
   * Whether it accepts a value at once. If not, class-validator says whether it does.
   *
   * @throws what the validator throws
   */
  accepts(object: object, value: unknown): boolean {
    const { metadata, each, valueType, constraint } = this;
    if (metadata.validateIf && !metadata.validateIf(object, value)) return true;
    if (constraint.async) return false;
    const elements = each ? listElements(value) : undefined;
    if (valueType !== undefined)
      return elements?.every(valueType.isValid) ?? valueType.isValid(value);
    const { instance } = constraint;
    const { targetName, constraints } = this;
    const args = { targetName, property: metadata.propertyName, object, value, constraints };
    const passes = (one: unknown): boolean => instance.validate(one, args) === true;
    return elements?.every(passes) ?? passes(value);
  }
}

/** As in class-validator, `each` also means the values of a Set or a Map that a transform made. */
export function listElements(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value as unknown[];
  return isSet(value) || isMap(value) ? [...value.values()] : undefined;
}
