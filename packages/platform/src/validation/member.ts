import type { Type } from '@nestjs/common';
import { JsonNumber } from 'durable-store/json';
import { EXACT_DATE, EXACT_TYPES, type ExactType, readNumber } from './exact-values.js';
import type { MemberRules, Rule } from './rules.js';
import { joinSchemas, type JsonSchema } from './schemas.js';
import { type MemberTransforms, readTransforms } from './transforms.js';
import { type ValueType, WHOLE_OBJECT_RULE } from './types.decorators.js';

/** What the decorators of a member say about its values. */
export interface DeclaredMember extends MemberRules, MemberTransforms {
  /**
   * Whether it is an array, whose elements the rules of the value describe: a decorator has
   * `each: true`, or the elements are nested objects.
   */
  readonly isList: boolean;
  /** The class that TypeScript records for it. */
  readonly designType: unknown;
  /** The JSON Schema of the value, or of the elements of an array. */
  readonly schema: JsonSchema;
  /** A further check, where class-validator's rules accept values that are not stored exactly. */
  readonly exactType: ExactType | undefined;
  /** The type of the value, or of the elements, if a decorator such as `@IsInt64()` declares it. */
  readonly valueType: ValueType | undefined;
  /** Converts a value of JSON, or an element of an array. */
  readonly read: (json: unknown) => unknown;
}

/**
 * Reads what the decorators of a member say about its values. If the member has a type of this
 * project, this lets the rules that compare its value judge only values of the type.
 *
 * @param declaringClass the class that has the member
 * @param isPatch whether the class is of a merge patch
 * @throws TypeError when the decorators do not say what the type of the member is, or contradict each
 *   other. The message names neither the class nor the member.
 */
export function readMember(
  declaringClass: Type<object>,
  name: string,
  memberRules: MemberRules,
  isPatch: boolean,
): DeclaredMember {
  const { isNested, hasEach } = memberRules;
  const prototype = declaringClass.prototype as object;
  const designType: unknown = Reflect.getMetadata('design:type', prototype, name);
  const rules = isPatch ? memberRules.rules.filter(concernsPatch) : memberRules.rules;
  const isArray = designType === Array || rules.some(isArrayRule);
  // As in class-validator, @ValidateNested() needs no `each` for an array.
  const isList = hasEach || (isNested && isArray);
  // In a list, the rules with `each` are about the elements, and the others about the array.
  const valueRules = rules.filter(({ each = false }) => each === isList);
  const valueType = valueRules.find((rule) => rule.valueType !== undefined)?.valueType;
  const schema = joinSchemas(valueRules.map((rule) => rule.schema));
  const hasType = valueType !== undefined || schema.type !== undefined;
  if (!hasType && !isNested && schema.oneOf === undefined) {
    throw new TypeError(
      'no rule says what its type is; add one that does, such as @IsText(), @IsInt64(), @IsBoolean(), @IsIn(), @IsJson(), or @ValidateNested() with @Type(() => AClass)',
    );
  }
  if (valueType !== undefined) {
    for (const rule of valueRules) rule.judgeOnly(valueType);
  }
  const transforms = readTransforms(declaringClass, name);
  const target: unknown = transforms.type;
  return {
    ...memberRules,
    ...transforms,
    isList,
    designType,
    rules,
    schema,
    valueType,
    exactType: target === Date ? EXACT_DATE : findExactType(valueType, schema),
    read: createReader(valueType, target),
  };
}

/** A rule about the whole object cannot hold for a patch. It is checked for the patched object. */
function concernsPatch({ name }: Rule): boolean {
  return name !== WHOLE_OBJECT_RULE;
}

/** Whether it is a rule about an array itself, such as `@IsArray()` and `@ArrayMinSize()`. */
function isArrayRule({ name, each }: Rule): boolean {
  return !each && (name === 'isArray' || name.startsWith('array'));
}

function findExactType(
  valueType: ValueType | undefined,
  schema: JsonSchema,
): ExactType | undefined {
  // The types of this project and the values of an enum are exact.
  if (valueType !== undefined || schema.enum !== undefined) return undefined;
  return EXACT_TYPES.get(schema.type);
}

/**
 * Returns a function that converts a value of JSON. The function returns a value of a wrong type
 * unchanged, so that the rules can refuse it.
 */
function createReader(valueType: ValueType | undefined, target: unknown): DeclaredMember['read'] {
  if (valueType !== undefined) return (json) => valueType.read(json) ?? json;
  return target === String ? readAsText : readNumber;
}

/** For `@Type(() => String)`: a number becomes the text that the client has sent. */
function readAsText(json: unknown): unknown {
  if (json instanceof JsonNumber) return json.source;
  return typeof json === 'boolean' ? String(json) : json;
}
