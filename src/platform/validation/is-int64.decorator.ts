import { buildMessage, ValidateBy, type ValidationOptions } from 'class-validator';
import { isInt64Text } from '../json/json-number.js';

export const IS_INT64 = 'isInt64';

/**
 * A member declared `bigint`: an integer from -2^63 to 2^63 - 1. With `each`, an array of them. What
 * reads a request makes a bigint of such a number and of nothing else, so the type is the whole check.
 */
export function IsInt64(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: IS_INT64,
      validator: {
        validate: (value) => typeof value === 'bigint',
        defaultMessage: buildMessage(
          (each, args) =>
            `${each}$property must be an integer from -9223372036854775808 to 9223372036854775807` +
            ([args?.value].flat().some(isInt64Text)
              ? ', not a string: write it without quotes'
              : ''),
          options,
        ),
      },
    },
    options,
  );
}
