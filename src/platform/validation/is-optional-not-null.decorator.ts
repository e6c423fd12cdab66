import { ValidateIf } from 'class-validator';

/** Checks a member only when it is there. Unlike `@IsOptional()`, this does not let null through. */
export function IsOptionalNotNull(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}
