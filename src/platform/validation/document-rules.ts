import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { TEXT_PATTERN } from './is-text.decorator.js';
import { isScalar } from './member-type.js';
import type { PropertyRules } from './rules.js';

/** What a rule is in JSON Schema, by its name in class-validator. */
const SCHEMAS: Readonly<Record<string, (constraints: readonly unknown[]) => object>> = {
  isInt: () => ({ type: 'integer' }),
  isInt64: () => ({ type: 'integer', format: 'int64' }),
  isText: () => ({ pattern: TEXT_PATTERN }),
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

interface DocumentedMember {
  readonly name: string;
  readonly type: unknown;
  readonly rules: PropertyRules;
  readonly nested: { readonly type: Type<object> } | undefined;
}

/**
 * Adds to the OpenAPI schema of a class what its rules and its initial values say, so that neither
 * is written twice. What they do not say, a description or an example, is for `@ApiProperty()`.
 */
export function documentRules(type: Type<object>, members: readonly DocumentedMember[]): void {
  const initial = new type() as Record<string, unknown>;
  for (const { name, type: memberType, rules, nested } of members) {
    const value = initial[name];
    const options = Object.assign(
      { required: !rules.isConditional && value === undefined },
      value !== undefined && typeof value !== 'bigint' && { default: value },
      isScalar(memberType) && { type: memberType },
      nested !== undefined && { type: () => nested.type, isArray: memberType === Array },
      ...rules.rules
        .filter(({ each }) => !each)
        .map((rule) => SCHEMAS[rule.name]?.(rule.constraints)),
    ) as ApiPropertyOptions;
    ApiProperty(options)(type.prototype as object, name);
  }
}
