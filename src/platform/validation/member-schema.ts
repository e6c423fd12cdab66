import type { Rule } from './rules.js';
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

/** @param isRemovable whether null removes the member */
export function describeNull({ oneOf }: Schema, isRemovable: boolean): Schema {
  if (oneOf === undefined) return isRemovable ? { nullable: true } : {};
  // Any JSON, which may be null.
  const types = oneOf as { readonly type: string }[];
  return isRemovable ? {} : { oneOf: types.filter(({ type }) => type !== 'null') };
}
