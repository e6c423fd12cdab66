import type { Type } from '@nestjs/common';
import { getMetadataStorage, type ValidationArguments, ValidationTypes } from 'class-validator';
import { createRequire } from 'node:module';

type Metadata = ReturnType<
  ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']
>[number];
type Check = (object: Record<string, unknown>) => boolean;

// class-transformer keeps its decorators' metadata to itself.
const { defaultMetadataStorage: transformations } = createRequire(import.meta.url)(
  'class-transformer/cjs/storage.js',
) as {
  defaultMetadataStorage: Record<
    'findTypeMetadata' | 'findExposeMetadata' | 'findExcludeMetadata',
    (target: Type<object>, property: string) => unknown
  > & {
    findTransformMetadatas(target: Type<object>, property: string, type: number): unknown[];
  };
};
const PLAIN_TO_CLASS = 0;

/**
 * The rules of a class as one function, which says whether an object keeps them all; undefined
 * unless every rule is flat and synchronous, and nothing is to be transformed. It saves the walks
 * of class-validator and class-transformer, which cost more than all else done with a valid body.
 */
export function compileValidator(dto: Type<object>): Check | undefined {
  const metadata = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  if (metadata.length === 0 || !metadata.every((rule) => isFlat(dto, rule))) return undefined;

  const properties = new Set(metadata.map(({ propertyName }) => propertyName));
  const checks = [...properties].map((property) =>
    propertyCheck(
      property,
      metadata.filter(({ propertyName }) => propertyName === property),
    ),
  );
  return (object) => checks.every((check) => check(object));
}

function isFlat(dto: Type<object>, rule: Metadata): boolean {
  if (isTransformed(dto, rule.propertyName)) return false;
  if (rule.type === ValidationTypes.CONDITIONAL_VALIDATION) return true;
  return (
    rule.type === ValidationTypes.CUSTOM_VALIDATION &&
    !rule.each &&
    rule.groups.length === 0 &&
    rule.validateIf === undefined &&
    constraintsOf(rule).every(({ async }) => !async)
  );
}

function isTransformed(dto: Type<object>, property: string): boolean {
  return (
    transformations.findTransformMetadatas(dto, property, PLAIN_TO_CLASS).length > 0 ||
    transformations.findTypeMetadata(dto, property) !== undefined ||
    transformations.findExposeMetadata(dto, property) !== undefined ||
    transformations.findExcludeMetadata(dto, property) !== undefined
  );
}

function propertyCheck(property: string, rules: Metadata[]): Check {
  const conditions = rules
    .filter(({ type }) => type === ValidationTypes.CONDITIONAL_VALIDATION)
    .map(({ constraints }) => constraints[0] as (object: object, value: unknown) => boolean);
  const constraints = rules
    .filter(({ type }) => type === ValidationTypes.CUSTOM_VALIDATION)
    .flatMap((rule) => constraintsOf(rule).map(({ instance }) => ({ instance, rule })));

  return (object) => {
    const value = object[property];
    if (!conditions.every((holds) => holds(object, value))) return true;
    // A promise is not true: then class-validator decides.
    return constraints.every(
      ({ instance, rule }) => instance.validate(value, argumentsFor(rule, object, value)) === true,
    );
  };
}

function argumentsFor(rule: Metadata, object: object, value: unknown): ValidationArguments {
  return {
    targetName: object.constructor.name,
    property: rule.propertyName,
    object,
    value,
    constraints: rule.constraints as unknown[],
  };
}

function constraintsOf({
  constraintCls,
}: Metadata): ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidatorConstraints']> {
  return getMetadataStorage().getTargetValidatorConstraints(constraintCls);
}
