import { Logger, type Type } from '@nestjs/common';
import { getMetadataStorage, type ValidationArguments, ValidationTypes } from 'class-validator';
import { isMap, isSet } from 'node:util/types';
import { Decimal } from 'durable-store/json';
import { type Check, isThenable } from './check.js';
import { describeRule, type JsonSchema } from './schemas.js';
import { isValueType, type ValueType } from './types.decorators.js';

type Storage = ReturnType<typeof getMetadataStorage>;
type Metadata = ReturnType<Storage['getTargetValidationMetadatas']>[number];
type Constraint = ReturnType<Storage['getTargetValidatorConstraints']>[number];

/** The rules of a member of a class, from the decorators of class-validator. */
export interface MemberRules {
  readonly rules: Rule[];
  /** Such as that of `@IsOptional()`. If one does not hold, no rule applies. */
  readonly conditions: ((object: object, value: unknown) => boolean)[];
  /** Whether it has `@ValidateNested()`. */
  isNested: boolean;
  /** Whether a decorator has `each: true`. */
  isList: boolean;
  /** Why a request cannot run a decorator of class-validator; undefined if it can run all. */
  refused: string | undefined;
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
      isNested: false,
      isList: false,
      refused: undefined,
    };
    members.set(name, member);
    const groups = metadata.groups as string[] | undefined;
    if (groups !== undefined && groups.length > 0) {
      member.refused ??= `${nameDecorator(metadata)} has groups, and a request has none: write a class for each use, such as one with PickType()`;
    }
    if (kind === ValidationTypes.PROMISE_VALIDATION) {
      member.refused ??= '@ValidatePromise() has nothing to wait for: write the rules alone';
    }
    if (each) member.isList = true;
    if (kind === ValidationTypes.NESTED_VALIDATION) member.isNested = true;
    if (kind === ValidationTypes.CONDITIONAL_VALIDATION) {
      member.conditions.push(metadata.constraints[0] as MemberRules['conditions'][number]);
    }
    const constraints = storage.getTargetValidatorConstraints(constraintCls);
    const rules = constraints.map((constraint) => new Rule(metadata, constraint, type.name));
    // As class-validator does, `@IsDefined()` is checked first.
    if (kind === ValidationTypes.IS_DEFINED) member.rules.unshift(...rules);
    else member.rules.push(...rules);
  }
  return members;
}

function nameDecorator({ name = '', type }: Metadata): string {
  const isNamed = name !== '' && name !== ValidationTypes.CUSTOM_VALIDATION;
  return isNamed ? toDecorator(name) : `A decorator (${type})`;
}

/** The decorator of a rule: `@IsInt()` for `isInt`. */
export function toDecorator(name: string): string {
  return `@${name.charAt(0).toUpperCase()}${name.slice(1)}()`;
}

/** The rules for the type of a value. If one of them rejects the value, the others may be misleading. */
const TYPE_RULES = new Set(['isBoolean', 'isInt', 'isNumber', 'isString', 'isDate', 'isArray']);
const logger = new Logger('Validation');

/** How rules about numbers compare a value with their limit. */
const COMPARISONS: Readonly<Record<string, (value: bigint, limit: number) => boolean>> = {
  min: (value, limit) => value >= limit,
  max: (value, limit) => value <= limit,
  isPositive: (value) => value > 0,
  isNegative: (value) => value < 0,
};

/** The types of values that class-validator prints in a message. */
const PRINTED_TYPES = new Set(['string', 'boolean', 'number']);

/**
 * A decorator of class-validator on a member. This project runs it itself: class-validator takes
 * ten times as long for a valid value.
 */
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
  readonly isOfType: boolean;
  readonly isAsynchronous: boolean;
  /** Whether its author has written the text about a value that it rejects. */
  readonly hasOwnText: boolean;
  /** Takes the place of class-validator's own function. */
  private comparison: ((value: unknown) => boolean) | undefined;

  constructor(
    private readonly metadata: Metadata,
    private readonly constraint: Constraint,
    private readonly targetName: string,
  ) {
    this.name = constraint.name;
    this.constraints = (metadata.constraints as unknown[] | undefined) ?? [];
    this.each = metadata.each;
    this.valueType = this.constraints.find(isValueType);
    this.isAsynchronous = constraint.async;
    this.hasOwnText = Boolean(metadata.message);
    this.schema = this.valueType?.schema ?? describeRule(this.name, this.constraints);
    this.isOfType = TYPE_RULES.has(this.name) || this.valueType !== undefined;
    if (this.name === 'isEnum') {
      // class-validator would also take the names of a numeric enum.
      const [, words] = this.constraints as [unknown, readonly unknown[]];
      this.comparison = (value) => words.includes(value);
    }
  }

  /**
   * Makes a rule about numbers compare values that are no JavaScript numbers.
   *
   * @throws TypeError when it cannot
   */
  compareWith({ scale, read }: NonNullable<ValueType['scaled']>): void {
    if (this.name === 'isInt' || this.name === 'isNumber' || this.name === 'isDivisibleBy') {
      throw new TypeError(
        `${toDecorator(this.name)} accepts only JavaScript numbers: leave it out, or write @Satisfies()`,
      );
    }
    const compare = COMPARISONS[this.name];
    if (compare === undefined) return;
    const { 0: given = 0 } = this.constraints;
    // Exact for what a double can hold, unlike a product.
    const limit = Number(`${String(given)}e${scale}`);
    if (Number.isNaN(limit)) throw new TypeError(`the limit ${String(given)} is too large`);
    this.comparison = (value) =>
      (typeof value === 'bigint' || value instanceof Decimal) && compare(read(value), limit);
  }

  /**
   * Returns a promise if the validator is asynchronous. As in class-validator, any truthy value of a
   * validator is a yes.
   *
   * @throws what the validator throws
   */
  passes(object: object, value: unknown): boolean | Promise<boolean> {
    const { metadata, each, valueType } = this;
    const { instance } = this.constraint;
    if (metadata.validateIf && !metadata.validateIf(object, value)) return true;
    const elements = each ? listElements(value) : undefined;
    const isValid = valueType?.isValid ?? this.comparison;
    if (isValid !== undefined) return elements?.every(isValid) ?? isValid(value);
    const args = this.createArguments(object, value);
    if (elements === undefined) return toBoolean(instance.validate(value, args));
    const results = elements.map((element) => toBoolean(instance.validate(element, args)));
    if (results.includes(false)) return false;
    const later = results.filter((result) => result instanceof Promise);
    return later.length === 0 || Promise.all(later).then((all) => !all.includes(false));
  }

  /**
   * Explains why it rejects a value, which the text names by its path. Replaces the tokens that
   * class-validator documents for messages: `$property`, `$value`, `$constraint1`, ...
   */
  explain(object: object, value: unknown, path: string): string {
    const args = this.createArguments(object, value);
    const tokens = new Map<string, unknown>([
      ['property', path],
      ['target', this.targetName],
      ...this.constraints.map((one, index) => [`constraint${index + 1}`, toText(one)] as const),
      ...(PRINTED_TYPES.has(typeof value) ? [['value', value] as const] : []),
    ]);
    const text = this.createMessage(args);
    return text.replaceAll(/\$(property|target|value|constraint\d+)/g, (token, name: string) =>
      tokens.has(name) ? String(tokens.get(name)) : token,
    );
  }

  private createMessage(args: ValidationArguments): string {
    try {
      const own = this.metadata.message || (this.constraint.instance.defaultMessage?.(args) ?? '');
      const text = typeof own === 'function' ? own(args) : own;
      if (text !== '') return text;
    } catch (error) {
      // The value is wrong all the same.
      logger.error(error);
    }
    return '$property is not valid';
  }

  private createArguments(object: object, value: unknown): ValidationArguments {
    const { targetName, constraints, metadata } = this;
    return { targetName, property: metadata.propertyName, object, value, constraints };
  }
}

/** As in class-validator, `each` also means the values of a Set or a Map that a transform made. */
export function listElements(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value as unknown[];
  return isSet(value) || isMap(value) ? [...value.values()] : undefined;
}

/**
 * Adds the fault that a member is missing: in the words of its author, or else in one sentence.
 */
export function addMissing(
  rules: readonly Rule[],
  object: object,
  path: string,
  check: Check,
): void {
  const before = check.faults.length;
  const explained = rules.filter((rule) => rule.hasOwnText && !rule.isAsynchronous);
  runRules(explained, object, undefined, path, check);
  if (check.faults.length === before) check.add(`${path} is missing`);
}

/**
 * Runs the rules of a value, and adds the faults that they find to those of a request: only those of
 * the rules for its type if its type is wrong. Rules that are declared as asynchronous come last,
 * and run only if no other rejects the value.
 */
export function runRules(
  rules: readonly Rule[],
  object: object,
  value: unknown,
  path: string,
  check: Check,
): void {
  let broken: Rule[] | undefined;
  for (const rule of rules) {
    if (rule.isAsynchronous && (broken !== undefined || check.isSynchronous)) continue;
    try {
      const result = rule.passes(object, value);
      if (result === false) (broken ??= []).push(rule);
      else if (result !== true) check.wait(result, () => rule.explain(object, value, path));
    } catch (error) {
      check.fail(error);
    }
  }
  if (broken === undefined) return;
  const ofType = broken.filter((rule) => rule.isOfType);
  for (const rule of ofType.length > 0 ? ofType : broken) {
    check.add(rule.explain(object, value, path));
  }
}

function toBoolean(result: unknown): boolean | Promise<boolean> {
  return isThenable(result) ? Promise.resolve(result).then(Boolean) : Boolean(result);
}

function toText(constraint: unknown): string {
  return Array.isArray(constraint) ? constraint.join(', ') : String(constraint);
}
