import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { MemberRules, Rule } from './rules.js';
import { isValueType, type ValueType } from './types.decorators.js';

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

/** Joins the JSON Schema of rules, and finds the type of this project if one of them has it. */
export function describeRules(rules: readonly Rule[]): {
  readonly schema: Schema;
  readonly valueType: ValueType | undefined;
} {
  const valueType = rules.map(({ constraints: [type] }) => type).find(isValueType);
  const schemas = rules.map(({ name, constraints }) => SCHEMAS[name]?.(constraints));
  const schema = Object.assign({}, ...schemas, valueType?.schema) as Schema;
  return { schema, valueType };
}

/** The metadata key of @nestjs/swagger for the documentation of a member. */
const API_PROPERTY = 'swagger/apiModelProperties';

/** A member as far as it is documented. */
export interface DocumentedMember extends MemberRules {
  readonly name: string;
  /** Of the value, or of the elements of an array. */
  readonly schema: Schema;
  /** The class of the value, or of the elements of an array. */
  readonly nested: { readonly type: Type<object> } | undefined;
}

/**
 * Adds the rules and the initial values of a class to its OpenAPI schema, so that neither is
 * written twice. `@ApiProperty()` adds only a description or an example.
 *
 * @param patched for a merge patch, whose members are all optional: the class to which it applies
 */
export function documentMembers(
  type: Type<object>,
  members: readonly DocumentedMember[],
  patched: Type<object> | undefined,
): void {
  const initial = new type() as Record<string, unknown>;
  for (const { name, rules, conditions, isList, schema, nested } of members) {
    const value = initial[name];
    const isOptional = conditions.length > 0;
    const forArray = isList ? describeRules(rules.filter(({ each }) => !each)).schema : {};
    const options = {
      ...(patched &&
        (Reflect.getMetadata(API_PROPERTY, patched.prototype as object, name) as object)),
      required: patched === undefined && !isOptional && value === undefined,
      ...(value !== undefined && typeof value !== 'bigint' && { default: value }),
      ...describeType(schema, nested?.type, isList),
      ...forArray,
      // In a patch, null removes an optional member.
      ...(patched !== undefined && !isList && describeNull(schema, isOptional)),
    };
    ApiProperty(options)(type.prototype as object, name);
  }
}

function describeType(schema: Schema, nested: Type<object> | undefined, isList: boolean): object {
  if (nested !== undefined) return { type: () => nested, isArray: isList };
  if (isList) return { type: 'array', items: schema };
  // @nestjs/swagger leaves out the type beside oneOf, but looks for one elsewhere if there is none.
  return schema.oneOf === undefined ? schema : { ...schema, type: 'object' };
}

/** @param isRemovable whether null removes the member */
function describeNull({ oneOf }: Schema, isRemovable: boolean): Schema {
  if (oneOf === undefined) return isRemovable ? { nullable: true } : {};
  // Any JSON, which may be null.
  const types = oneOf as { readonly type: string }[];
  return isRemovable ? {} : { oneOf: types.filter(({ type }) => type !== 'null') };
}
