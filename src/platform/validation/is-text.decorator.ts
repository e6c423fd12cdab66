import { buildMessage, ValidateBy, type ValidationOptions } from 'class-validator';

/**
 * What a regular expression can say of the rule in JSON Schema, and mean the same in every validator
 * that is generated from it. Surrogates cannot be named: without the flag `u` they are halves of
 * emoji, some generators replace their escapes, and Rust and RE2 have none.
 */
export const TEXT_PATTERN = String.raw`^[^\x00]*$`;

const NOT_TEXT = /[\0\ud800-\udfff]/u;

/** A string that every database engine stores exactly: without U+0000 and unpaired surrogates. */
export function IsText(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isText',
      validator: {
        validate: (value) => typeof value === 'string' && !NOT_TEXT.test(value),
        defaultMessage: buildMessage(
          (each, args) =>
            typeof args?.value === 'string'
              ? `${each}$property must not contain U+0000 or an unpaired surrogate`
              : `${each}$property must be a string`,
          options,
        ),
      },
    },
    options,
  );
}
