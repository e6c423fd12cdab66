import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import type { PropertyRules } from './dto-rules.js';

/** The classes that @nestjs/swagger knows a JSON type for. */
const DOCUMENTED_CLASSES = new Set<unknown>([String, Number, Boolean, BigInt]);

/** What a rule of class-validator is in JSON Schema, by its name. */
const SCHEMAS: Readonly<Record<string, (constraints: readonly unknown[]) => object>> = {
  isInt: () => ({ type: 'integer' }),
  isUuid: () => ({ format: 'uuid' }),
  isIn: ([values]) => ({ enum: values }),
  isEnum: ([, values]) => ({ enum: values }),
  min: ([minimum]) => ({ minimum }),
  max: ([maximum]) => ({ maximum }),
  minLength: ([minLength]) => ({ minLength }),
  maxLength: ([maxLength]) => ({ maxLength }),
  isLength: ([minLength, maxLength]) => ({ minLength, maxLength }),
  arrayMinSize: ([minItems]) => ({ minItems }),
  arrayMaxSize: ([maxItems]) => ({ maxItems }),
};

/** What @nestjs/swagger keeps of the decorators of a property. */
const API_PROPERTY = 'swagger/apiModelProperties';

interface DocumentedMember {
  readonly name: string;
  readonly type: unknown;
  readonly rules: PropertyRules;
  readonly nested: { readonly type: Type<object> } | undefined;
}

/**
 * Adds to the OpenAPI schema of a class what its rules and its initial values say, so that neither
 * is written twice. What they do not say, a description or an example, is for `@ApiProperty()`.
 *
 * @param declared the class itself, or the one whose merge patch it is
 */
export function documentRules(
  type: Type<object>,
  declared: Type<object>,
  members: readonly DocumentedMember[],
): void {
  const isPatch = type !== declared;
  const initial = new type() as Record<string, unknown>;
  for (const { name, type: memberType, rules, nested } of members) {
    const value = initial[name];
    const { valueType } = rules;
    const described = isPatch
      ? (Reflect.getMetadata(API_PROPERTY, declared.prototype as object, name) as object)
      : {};
    const options = Object.assign(
      { ...described, required: !isPatch && !rules.isConditional && value === undefined },
      value !== undefined && typeof value !== 'bigint' && { default: value },
      isPatch && rules.isConditional && !takesNull(valueType) && { nullable: true },
      DOCUMENTED_CLASSES.has(memberType) && valueType === undefined && { type: memberType },
      valueType !== undefined &&
        (valueType.each ? { type: 'array', items: valueType.type.schema } : valueType.type.schema),
      // @nestjs/swagger leaves out the type beside oneOf, but looks for one elsewhere if there is none.
      takesNull(valueType) && { type: 'object' },
      // In a patch, null removes a member.
      isPatch && !rules.isConditional && takesNull(valueType) && withoutNull(valueType.type.schema),
      nested !== undefined && { type: () => nested.type, isArray: memberType === Array },
      ...rules.rules
        .filter(({ each }) => !each)
        .map((rule) =>
          valueType === undefined ? SCHEMAS[rule.name]?.(rule.constraints) : toRange(rule),
        ),
    ) as ApiPropertyOptions;
    ApiProperty(options)(type.prototype as object, name);
  }
}

/** Whether null is a value of the type, as it is of any JSON. */
function takesNull(given: PropertyRules['valueType']): given is NonNullable<typeof given> {
  return given?.each === false && 'oneOf' in given.type.schema;
}

function withoutNull({ oneOf }: Readonly<Record<string, unknown>>): object {
  return { oneOf: (oneOf as { type: string }[]).filter(({ type }) => type !== 'null') };
}

/** What a rule beside that of a type adds to its schema. */
function toRange({ name, constraints }: PropertyRules['rules'][number]): object | undefined {
  return name.startsWith('is') ? undefined : SCHEMAS[name]?.(constraints);
}
