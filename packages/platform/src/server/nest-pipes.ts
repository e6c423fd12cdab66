import {
  type ArgumentMetadata,
  BadRequestException,
  HttpException,
  ParseArrayPipe,
  ParseFloatPipe,
  ParseIntPipe,
  type Type,
  ValidationPipe,
} from '@nestjs/common';
import { TransformOperationExecutor } from 'class-transformer/cjs/TransformOperationExecutor.js';
import { Decimal, JsonNumber, JsonText } from 'durable-store/json';
import { BodyLines } from '../requests/body-lines.js';
import { CompiledDto } from '../validation/compiled-dto.js';
import { readExactNumber } from '../validation/exact-values.js';
import { isKeptByPatch } from '../validation/transform-object.js';
import { GeneratedAnswer } from './send-stream.js';
import { type Method, wrapMethod } from './wrap-method.js';

/** Lets Nest's pipes meet the values that this program reads, and keeps numbers exact in them. */
export function preparePipes(): void {
  prepareValidationPipes();
  refuseRoundedIntegers();
  keepExactValues();
}

/** The instances that pipes have made, which the next pipe checks with options of its own. */
const madeByPipes = new WeakSet<object>();

/**
 * Whether a value was checked before pipes run, and holds exact values. A pipe would make it anew,
 * without the members that class-validator does not know.
 */
function isChecked(value: unknown, { type, metatype }: ArgumentMetadata): boolean {
  // A decorator of a module may give an instance of its own.
  if (type === 'custom') return value instanceof BodyLines;
  const isInstance = metatype !== undefined && value instanceof (metatype as Type<object>);
  return isInstance && !madeByPipes.has(value);
}

function prepareValidationPipes(): void {
  wrapMethod(
    ValidationPipe,
    'transform',
    async (
      transform: Method<[unknown, ArgumentMetadata], Promise<unknown>>,
      value,
      metadata: ArgumentMetadata,
    ) => {
      if (isChecked(value, metadata)) return value;
      let result: unknown;
      try {
        result = await transform(value, metadata);
      } catch (error) {
        throw await explainFailure(error, value, metadata);
      }
      if (isRounded(result)) throw new BadRequestException(ROUNDED);
      if (typeof result === 'object' && result !== null) madeByPipes.add(result);
      return result;
    },
  );
  wrapMethod(
    ValidationPipe,
    'validate',
    async (validate: Method<unknown[], Promise<unknown>>, ...args) => {
      try {
        return await validate(...args);
      } catch (error) {
        return noteThrown(error);
      }
    },
  );
}

/** What the libraries have thrown while a pipe used them: not the exception that a pipe makes. */
const thrownByLibraries = new WeakSet<object>();

function noteThrown(error: unknown): never {
  thrownByLibraries.add(Object(error) as object);
  throw error;
}

/** Returns a refusal of the value in place of an error if a wrong value may be the reason for it. */
async function explainFailure(
  error: unknown,
  value: unknown,
  { metatype }: ArgumentMetadata,
): Promise<unknown> {
  const dto = CompiledDto.find(metatype);
  const isUnexpected = thrownByLibraries.has(Object(error) as object);
  if (!isUnexpected || error instanceof HttpException || dto === undefined) return error;
  const faults = await dto.checkPlain(value as object);
  return faults.length > 0 ? new BadRequestException([...faults]) : error;
}

const { MIN_SAFE_INTEGER, MAX_SAFE_INTEGER } = Number;
const ROUNDED = `Validation failed (a number from ${MIN_SAFE_INTEGER} to ${MAX_SAFE_INTEGER} is expected)`;

/** Whether a value may be another integer than a client has sent, since a double rounds it. */
function isRounded(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** A double would round an integer beyond 2^53 - 1, and another row may have that number. */
function refuseRoundedIntegers(): void {
  for (const type of [ParseIntPipe, ParseFloatPipe, ParseArrayPipe]) {
    wrapMethod(
      type,
      'transform',
      async function (
        transform: Method<[unknown, ArgumentMetadata], Promise<unknown>>,
        value,
        metadata: ArgumentMetadata,
      ) {
        const parsed = await transform(value, metadata);
        if (![parsed].flat().some(isRounded)) return parsed;
        const { exceptionFactory } = this as { readonly exceptionFactory: (text: string) => Error };
        throw exceptionFactory(ROUNDED);
      },
    );
  }
}

/** Copies of these values by their members would not be numbers and texts in JSON. */
const VALUES = [Decimal, JsonNumber, JsonText, GeneratedAnswer];

/** class-transformer would also round a number that `@Type(() => Number)` makes. */
function keepExactValues(): void {
  wrapMethod(
    TransformOperationExecutor,
    'transform',
    (
      transform: Method<[unknown, unknown, unknown, ...unknown[]], unknown>,
      source,
      value,
      targetType,
      ...rest
    ) => {
      const isKept = VALUES.some((type) => value instanceof type);
      // No date is so far away, and the constructor of Date throws.
      const isWrongDate = targetType === Date && typeof value === 'bigint';
      if (isKept || isWrongDate) return value;
      const exact = targetType === Number ? readExactNumber(value) : undefined;
      if (exact !== undefined) return exact;
      try {
        return transform(source, value, targetType, ...rest);
      } catch (error) {
        return noteThrown(error);
      }
    },
  );
  wrapMethod(
    TransformOperationExecutor,
    'applyCustomTransformations',
    (apply: Method<unknown[], unknown>, value, target, ...rest) =>
      isKeptByPatch(value, target) ? value : apply(value, target, ...rest),
  );
}
