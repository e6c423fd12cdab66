import { buildMessage, ValidateBy, type ValidationOptions } from 'class-validator';

/** The same rule as a regular expression for JSON Schema, whose patterns are Unicode-aware. */
export const TEXT_PATTERN = '^[^\\u0000\\ud800-\\udfff]*$';

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
