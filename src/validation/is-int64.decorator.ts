import { ValidateBy, type ValidationOptions } from 'class-validator';

/**
 * A member declared `bigint`: an integer from -2^63 to 2^63 - 1. The body reader makes a bigint of
 * such a number and of nothing else, so the type is the whole check.
 */
export function IsInt64(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isInt64',
      validator: {
        validate: (value) => typeof value === 'bigint',
        defaultMessage: () =>
          '$property must be an integer from -9223372036854775808 to 9223372036854775807',
      },
    },
    options,
  );
}
