import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import type { PropertyRules } from './dto-rules.js';

/** The classes for which @nestjs/swagger knows a JSON type. */
const DOCUMENTED_CLASSES = new Set<unknown>([String, Number, Boolean, BigInt]);

/** The JSON Schema of rules of class-validator, by their names. */
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

/** The metadata key of @nestjs/swagger for the documentation of a property. */
const API_PROPERTY = 'swagger/apiModelProperties';

interface DocumentedMember {
  readonly name: string;
  readonly type: unknown;
  readonly rules: PropertyRules;
  readonly nested: { readonly type: Type<object> } | undefined;
}

/**
 * Adds the rules and the initial values of a class to its OpenAPI schema, so that neither is
 * written twice. `@ApiProperty()` adds only a description or an example.
 *
 * @param declared the class itself; for a merge patch, the class to which it applies
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

/** Whether null is a value of the type, as for any JSON value. */
function takesNull(given: PropertyRules['valueType']): given is NonNullable<typeof given> {
  return given?.each === false && 'oneOf' in given.type.schema;
}

function withoutNull({ oneOf }: Readonly<Record<string, unknown>>): object {
  return { oneOf: (oneOf as { type: string }[]).filter(({ type }) => type !== 'null') };
}

/** Returns what a further rule adds to the schema of a type. */
function toRange({ name, constraints }: PropertyRules['rules'][number]): object | undefined {
  return name.startsWith('is') ? undefined : SCHEMAS[name]?.(constraints);
}
