import type { Type } from '@nestjs/common';
import { getMetadataStorage, type ValidationArguments, ValidationTypes } from 'class-validator';
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
  /** Whether it is an array: whether a decorator has `each: true`. */
  isList: boolean;
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
    };
    members.set(name, member);
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

/** JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

/** The JSON Schema of class-validator's rules, by their names. */
const SCHEMAS: Readonly<Record<string, (constraints: readonly unknown[]) => Schema>> = {
  isBoolean: () => ({ type: 'boolean' }),
  isInt: () => ({ type: 'integer' }),
  isNumber: () => ({ type: 'number' }),
  isString: () => ({ type: 'string' }),
  isUuid: () => ({ type: 'string', format: 'uuid' }),
  isEmail: () => ({ type: 'string', format: 'email' }),
  isUrl: () => ({ type: 'string' }),
  isIn: ([words]) => describeWords(words),
  isEnum: ([, words]) => describeWords(words),
  min: ([minimum]) => ({ minimum }),
  max: ([maximum]) => ({ maximum }),
  minLength: ([minLength]) => ({ minLength }),
  maxLength: ([maxLength]) => ({ maxLength }),
  isLength: ([minLength, maxLength]) => ({ minLength, maxLength }),
  arrayMinSize: ([minItems]) => ({ minItems }),
  arrayMaxSize: ([maxItems]) => ({ maxItems }),
};

function describeWords(words: unknown): Schema {
  const [type, ...others] = new Set((words as unknown[]).map((word) => typeof word));
  return { enum: words, ...(others.length === 0 && { type }) };
}

/** The rules for the type of a value. If one of them rejects the value, the others may be misleading. */
const TYPE_RULES = new Set(['isBoolean', 'isInt', 'isNumber', 'isString']);
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
  readonly schema: Schema;
  readonly isOfType: boolean;

  constructor(
    private readonly metadata: Metadata,
    private readonly constraint: Constraint,
    private readonly targetName: string,
  ) {
    this.name = constraint.name;
    this.constraints = (metadata.constraints as unknown[] | undefined) ?? [];
    this.each = metadata.each;
    this.valueType = this.constraints.find(isValueType);
    this.schema = this.valueType?.schema ?? SCHEMAS[this.name]?.(this.constraints) ?? {};
    this.isOfType = TYPE_RULES.has(this.name) || this.valueType !== undefined;
  }

  /** A rule that throws, or is asynchronous, rejects every value. */
  passes(object: object, value: unknown): boolean {
    const { metadata, each, valueType } = this;
    const { instance } = this.constraint;
    if (metadata.validateIf?.(object, value) === false) return true;
    if (valueType !== undefined) {
      return each && Array.isArray(value)
        ? value.every(valueType.isValid)
        : valueType.isValid(value);
    }
    const args = this.createArguments(object, value);
    try {
      return each && Array.isArray(value)
        ? value.every((element) => instance.validate(element, args) === true)
        : instance.validate(value, args) === true;
    } catch {
      return false;
    }
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
    const message =
      this.metadata.message || (this.constraint.instance.defaultMessage?.(args) ?? '');
    const text = typeof message === 'function' ? message(args) : message;
    return text.replaceAll(/\$(property|target|value|constraint\d+)/g, (token, name: string) =>
      tokens.has(name) ? String(tokens.get(name)) : token,
    );
  }

  private createArguments(object: object, value: unknown): ValidationArguments {
    const { targetName, constraints, metadata } = this;
    return { targetName, property: metadata.propertyName, object, value, constraints };
  }
}

/** Explains why rules reject a value: only the rules for its type do if its type is wrong. */
export function explainFaults(
  rules: readonly Rule[],
  object: object,
  value: unknown,
  path: string,
): string[] {
  const broken = rules.filter((rule) => !rule.passes(object, value));
  const ofType = broken.filter((rule) => rule.isOfType);
  return (ofType.length > 0 ? ofType : broken).map((rule) => rule.explain(object, value, path));
}

function toText(constraint: unknown): string {
  return Array.isArray(constraint) ? constraint.join(', ') : String(constraint);
}
