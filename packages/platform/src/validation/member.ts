import type { Type } from '@nestjs/common';
import { JsonNumber } from 'durable-store/json';
import { EXACT_DATE, EXACT_TYPES, type ExactType, readNumber } from './exact-values.js';
import type { MemberRules, Rule } from './rules.js';
import { joinSchemas, type JsonSchema } from './schemas.js';
import { type MemberTransforms, readTransforms } from './transforms.js';
import { type ValueType, WHOLE_OBJECT_RULE } from './types.decorators.js';

/** What the decorators of a member say about its values. */
export interface DeclaredMember extends MemberRules, MemberTransforms {
  /** Whether it is an array: whether a decorator has `each: true`, or the rules are of an array. */
  readonly isList: boolean;
  /** The class that TypeScript records for it. */
  readonly designType: unknown;
  /** The JSON Schema of the value, or of the elements of an array. */
  readonly schema: JsonSchema;
  /** What rules of class-validator do not say about values of their type. */
  readonly exactType: ExactType | undefined;
  /** The type of this project of the value, or of the elements of an array. */
  readonly valueType: ValueType | undefined;
  /** Converts a value of JSON, or an element of an array. */
  readonly read: (json: unknown) => unknown;
}

/**
 * Reads what the decorators of a member say about its values.
 *
 * @param isPatch whether it is a member of a merge patch
 * @throws TypeError when they do not say what its type is, or contradict each other
 */
export function declareMember(
  type: Type<object>,
  name: string,
  memberRules: MemberRules,
  isPatch: boolean,
): DeclaredMember {
  const transforms = readTransforms(type, name);
  const designType: unknown = Reflect.getMetadata('design:type', type.prototype as object, name);
  // A patch lacks the other members: its result is checked instead.
  const rules = memberRules.rules.filter((rule) => !isPatch || rule.name !== WHOLE_OBJECT_RULE);
  const isArray = designType === Array || rules.some(isArrayRule);
  // As in class-validator, @ValidateNested() needs no `each` for an array.
  const isList = memberRules.isList || (memberRules.isNested && isArray);
  const ofValue = rules.filter(({ each = false }) => each === isList);
  const valueType = ofValue.find((rule) => rule.valueType !== undefined)?.valueType;
  const schema = joinSchemas(ofValue.map((rule) => rule.schema));
  if (valueType?.scaled !== undefined) {
    for (const rule of ofValue) rule.compareWith(valueType.scaled);
  }
  const isTyped =
    memberRules.isNested ||
    valueType !== undefined ||
    schema.type !== undefined ||
    schema.oneOf !== undefined;
  if (!isTyped) {
    throw new TypeError(
      'no rule says what its type is; add one that does, such as @IsText(), @IsInt64(), @IsBoolean(), @IsIn(), @IsJson(), or @ValidateNested() with @Type(() => AClass)',
    );
  }
  return {
    ...memberRules,
    ...transforms,
    isList,
    designType,
    rules,
    schema,
    valueType,
    exactType: makesDate(transforms) ? EXACT_DATE : findExactType(valueType, schema),
    read: createReader(valueType, transforms.type),
  };
}

function isArrayRule({ name, each }: Rule): boolean {
  return !each && (name === 'isArray' || name.startsWith('array'));
}

function makesDate({ type }: MemberTransforms): boolean {
  return type === (Date as unknown);
}

function findExactType(
  valueType: ValueType | undefined,
  schema: JsonSchema,
): ExactType | undefined {
  const isExact = valueType !== undefined || schema.enum !== undefined;
  return isExact ? undefined : EXACT_TYPES.get(schema.type);
}

/** Returns how a value of JSON is converted. Of a value of a wrong type, it keeps the JSON. */
function createReader(valueType: ValueType | undefined, target: unknown): DeclaredMember['read'] {
  if (valueType !== undefined) return (json) => valueType.read(json) ?? json;
  return target === String ? readAsText : readNumber;
}

/** Converts for `@Type(() => String)`, as JSON writes a number. */
function readAsText(json: unknown): unknown {
  if (json instanceof JsonNumber) return json.source;
  return typeof json === 'boolean' ? String(json) : json;
}
