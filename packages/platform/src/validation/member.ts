import type { Type } from '@nestjs/common';
import { JsonNumber, PLAIN_NUMBER } from 'durable-store/json';
import { EXACT_DATE, EXACT_TYPES, type ExactType, readNumber } from './exact-values.js';
import { type MemberRules, type Rule, toDecorator } from './rules.js';
import { joinSchemas, type JsonSchema } from './schemas.js';
import { type MemberTransforms, readTransforms } from './transforms.js';
import { DATE_TYPE, type ValueType, WHOLE_OBJECT_RULE } from './types.decorators.js';

/** What the decorators of a member say about its values. */
export interface DeclaredMember extends MemberRules, MemberTransforms {
  /** Why no request can have it; undefined if one can. */
  readonly refused: string | undefined;
  /** Whether it is an array: whether a decorator has `each: true`, or the rules are of an array. */
  readonly isList: boolean;
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
  const ownType = ofValue.find(({ valueType }) => valueType !== undefined)?.valueType;
  const valueType = makesDate(transforms) ? DATE_TYPE : ownType;
  const schema = joinSchemas(ofValue.map((rule) => rule.schema));
  if (ownType?.scaled !== undefined) {
    for (const rule of ofValue) rule.compareWith(ownType.scaled);
  }
  const refused =
    memberRules.refused ??
    transforms.refused ??
    (isArray ? refuseArray(rules, isList) : undefined) ??
    refuseCollection(designType, memberRules, transforms) ??
    refuseDate(ofValue, transforms);
  const isTyped =
    memberRules.isNested ||
    valueType !== undefined ||
    schema.type !== undefined ||
    schema.oneOf !== undefined;
  if (!isTyped) {
    throw new TypeError(
      refused ??
        'no rule says what its type is; add one that does, such as @IsText(), @IsInt64(), @IsBoolean(), @IsIn(), @IsJson(), or @ValidateNested() with @Type(() => AClass)',
    );
  }
  return {
    ...memberRules,
    ...transforms,
    isList,
    rules,
    schema,
    valueType,
    // What concerns only requests prevents no answer of the class.
    refused,
    exactType: findExactType(valueType, schema),
    read: createReader(valueType, transforms.type),
  };
}

function isArrayRule({ name, each }: Rule): boolean {
  return !each && (name === 'isArray' || name.startsWith('array'));
}

function makesDate({ type }: MemberTransforms): boolean {
  return type === (Date as unknown);
}

/** Explains why the values of an array cannot be checked; undefined if they can. */
function refuseArray(rules: readonly Rule[], isList: boolean): string | undefined {
  const ofOneValue = rules.find(({ each, schema }) => !each && schema.type !== undefined);
  if (isList && ofOneValue === undefined) return undefined;
  const decorator = toDecorator(ofOneValue?.name ?? 'isString').replace('()', '({ each: true })');
  return `an array needs a rule for the type of its elements: write ${decorator}`;
}

/** Explains why JSON cannot become a Set or a Map; undefined if it can. */
function refuseCollection(
  designType: unknown,
  { isNested }: MemberRules,
  { transforms }: MemberTransforms,
): string | undefined {
  const isTransformed = transforms.length > 0;
  if (designType === Set && !isTransformed) {
    return 'JSON has no Set: write @Transform(({ value }) => new Set(value)), or an array';
  }
  if (designType === Map && (!isTransformed || isNested)) {
    return 'JSON has no Map: write an array of objects';
  }
  return undefined;
}

/** Explains why a member cannot be a Date; undefined if it can, or is none. */
function refuseDate(rules: readonly Rule[], transforms: MemberTransforms): string | undefined {
  const isChecked = rules.some(({ name }) => name === 'isDate');
  const isMade = makesDate(transforms);
  const isMadeByAuthor = transforms.transforms.length > 0;
  const isComplete = isChecked ? isMade || isMadeByAuthor : !isMade;
  return isComplete
    ? undefined
    : 'a Date needs both decorators: write @Type(() => Date) @IsDate(), or @IsInstant() for a text';
}

function findExactType(
  valueType: ValueType | undefined,
  schema: JsonSchema,
): ExactType | undefined {
  if (valueType === DATE_TYPE) return EXACT_DATE;
  const isExact = valueType !== undefined || schema.enum !== undefined;
  return isExact ? undefined : EXACT_TYPES.get(schema.type);
}

/** Returns how a value of JSON is converted. Of a value of a wrong type, it keeps the JSON. */
function createReader(valueType: ValueType | undefined, target: unknown): DeclaredMember['read'] {
  if (valueType !== undefined) return (json) => valueType.read(json) ?? json;
  if (target === String) return readAsText;
  if (target !== Number) return readNumber;
  // `@Type(() => Number)` also takes a number in quotes.
  return (json) =>
    readNumber(typeof json === 'string' && PLAIN_NUMBER.test(json) ? new JsonNumber(json) : json);
}

/** Converts for `@Type(() => String)`, as JSON writes a number. */
function readAsText(json: unknown): unknown {
  if (json instanceof JsonNumber) return json.source;
  return typeof json === 'boolean' ? String(json) : json;
}
