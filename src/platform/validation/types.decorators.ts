import { buildMessage, ValidateBy, ValidateIf, type ValidationOptions } from 'class-validator';
import { WHOLE_OBJECT_RULE } from './rules.js';
import {
  CALENDAR_DATE,
  createDecimalType,
  INSTANT_TYPE,
  INT64,
  createInt32Type,
  JSON_OBJECT_TYPE,
  JSON_TYPE,
  createTextType,
  UUID_TYPE,
  type ValueType,
} from './value-types.js';

// The types of members of DTOs. Each decorator checks the member and documents it. With `each:
// true`, the member is an array of such values. For words from a list and for booleans, use @IsIn()
// and @IsBoolean() of class-validator.

/** An integer from -2^31 to 2^31 - 1; declare the member as number. */
export function IsInt32(options?: ValidationOptions): PropertyDecorator {
  return IsOfType('isInt32', createInt32Type(), options);
}

/** An integer from -2^63 to 2^63 - 1; declare the member as bigint. */
export function IsInt64(options?: ValidationOptions): PropertyDecorator {
  return IsOfType('isInt64', INT64, options);
}

/**
 * An exact number with at most `precision` digits (1 to 18), of which `scale` follow the point;
 * declare the member as Decimal.
 */
export function IsDecimal(
  precision: number,
  scale: number,
  options?: ValidationOptions,
): PropertyDecorator {
  return IsOfType('isDecimal', createDecimalType(precision, scale), options);
}

/** The length of a text in code points. */
export interface TextLength {
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** Text without U+0000 or unpaired surrogates; declare the member as string. */
export function IsText({
  minLength,
  maxLength,
  ...options
}: TextLength & ValidationOptions = {}): PropertyDecorator {
  return IsOfType('isText', createTextType(minLength, maxLength), options);
}

/** A day from 0001-01-01 to 9999-12-31; declare the member as string. */
export function IsCalendarDate(options?: ValidationOptions): PropertyDecorator {
  return IsOfType('isCalendarDate', CALENDAR_DATE, options);
}

/** A moment (RFC 3339) with at most milliseconds, which is read as UTC; declare the member as string. */
export function IsInstant(options?: ValidationOptions): PropertyDecorator {
  return IsOfType('isInstant', INSTANT_TYPE, options);
}

/** A UUID, which is read in small letters; declare the member as string. */
export function IsUuid(options?: ValidationOptions): PropertyDecorator {
  return IsOfType('isUuid', UUID_TYPE, options);
}

/** Any JSON value with exact numbers; declare the member as JsonText. */
export function IsJson(options?: ValidationOptions): PropertyDecorator {
  return IsOfType('isJson', JSON_TYPE, options);
}

/** A JSON object with exact numbers; declare the member as JsonText. */
export function IsJsonObject(options?: ValidationOptions): PropertyDecorator {
  return IsOfType('isJsonObject', JSON_OBJECT_TYPE, options);
}

/**
 * Makes a member optional: its rules apply only if it is given. Unlike `@IsOptional()`, this does
 * not accept null.
 */
export function IsOptionalNotNull(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}

/**
 * Checks a member together with the others of its object. A merge patch may lack the others, so the
 * result of the patch is checked instead.
 *
 * @param message completes the sentence that begins with the name: "must be later than openedAt"
 */
export function Satisfies(message: string, isValid: (dto: never) => boolean): PropertyDecorator {
  return ValidateBy({
    name: WHOLE_OBJECT_RULE,
    validator: {
      validate: (_, args) => isValid(args?.object as never),
      defaultMessage: () => `$property ${message}`,
    },
  });
}

function IsOfType(
  name: string,
  type: ValueType,
  options: ValidationOptions | undefined,
): PropertyDecorator {
  return ValidateBy(
    {
      name,
      constraints: [type],
      validator: {
        validate: (value) => type.isValid(value),
        defaultMessage: buildMessage(
          (each, args) => `${each}$property ${type.explain(args?.value)}`,
          options,
        ),
      },
    },
    options,
  );
}
