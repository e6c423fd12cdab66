import { ValidationPipe, type ValidationPipeOptions } from '@nestjs/common';
import { PIPES_METADATA, RouteParamtypes, ROUTE_ARGS_METADATA } from '@nestjs/common/internal';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';

// This file depends on internals of Nest 12: how it records pipes, and where a ValidationPipe keeps its
// options.

/** The kinds of parameters that have a class. */
type Place = RouteParamtypes.BODY | RouteParamtypes.QUERY | RouteParamtypes.PARAM;

interface RecordedParameter {
  /** The name in `@Query('name')`. */
  readonly data?: unknown;
  readonly pipes?: readonly unknown[];
}

/**
 * Lists the ValidationPipes that the author of a handler wrote for its body, its query or its path: at
 * the controller, at the handler or at the parameter. Those for a body check it in place of this
 * program.
 */
export function listOwnPipes(
  controller: InstanceWrapper,
  method: string,
  place: Place,
): ValidationPipe[] {
  const type = controller.metatype as { readonly prototype: Record<string, object> };
  const { [method]: handler = {} } = type.prototype;
  const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, type, method) as
    Record<string, RecordedParameter> | undefined;
  const ofParameter = Object.entries(parameters ?? {}).flatMap(([key, { data, pipes = [] }]) =>
    key.startsWith(`${place}:`) && data === undefined ? pipes : [],
  );
  const pipes = [...readPipes(type), ...readPipes(handler), ...ofParameter];
  return pipes
    .map((pipe): unknown =>
      typeof pipe === 'function' ? controller.host?.injectables.get(pipe)?.instance : pipe,
    )
    .filter((pipe) => pipe instanceof ValidationPipe);
}

/** Reads what `@UsePipes()` says at a class or a method. */
function readPipes(decorated: object): readonly unknown[] {
  return (Reflect.getMetadata(PIPES_METADATA, decorated) as unknown[] | undefined) ?? [];
}

/**
 * Checks that a pipe exists at the start, as one of the scope REQUEST does not.
 *
 * @throws TypeError if it does not
 */
export function assertExists(pipe: ValidationPipe): void {
  if (Object.hasOwn(pipe, 'validatorOptions')) return;
  throw new TypeError(
    `${pipe.constructor.name}: lines, a path and a query need pipes that exist at the start: leave out the scope of this one`,
  );
}

/** The options that change nothing about an object that was checked before. */
const WITHOUT_EFFECT = new Set([
  'enableDebugMessages',
  'forbidNonWhitelisted',
  'forbidUnknownValues',
  'whitelist',
]);

/** Where a ValidationPipe keeps its options. */
interface PipeMembers {
  readonly validatorOptions: ValidationPipeOptions;
  readonly transformOptions?: ValidationPipeOptions['transformOptions'];
  readonly errorHttpStatusCode: number;
  readonly errorFormat: string;
  readonly exceptionFactory: unknown;
  readonly expectedType?: unknown;
  readonly isDetailedOutputDisabled?: boolean;
}

function listOptions(pipe: ValidationPipe): Record<string, unknown> {
  const { validatorOptions, transformOptions, ...own } = pipe as unknown as PipeMembers;
  return {
    errorHttpStatusCode: own.errorHttpStatusCode,
    errorFormat: own.errorFormat,
    // The default is made anew for each pipe.
    exceptionFactory: String(own.exceptionFactory),
    expectedType: own.expectedType,
    disableErrorMessages: own.isDetailedOutputDisabled,
    ...validatorOptions,
    ...transformOptions,
  };
}

const DEFAULTS = listOptions(new ValidationPipe());

/** Finds an option of a pipe that its author expects to have an effect on what is checked before. */
function findOption(pipe: ValidationPipe): string | undefined {
  const options = Object.entries(listOptions(pipe));
  const found = options.find(
    ([name, value]) => Boolean(value) && value !== DEFAULTS[name] && !WITHOUT_EFFECT.has(name),
  );
  return found?.[0];
}

/**
 * Checks a pipe for a path or a query, which are read as their classes before pipes run.
 *
 * @throws TypeError when an option would have no effect, or is not known at the start
 */
export function checkParameterPipe(pipe: ValidationPipe): void {
  assertExists(pipe);
  const option = findOption(pipe);
  if (option === undefined) return;
  throw new TypeError(
    `new ValidationPipe({ ${option} }): a path and a query are checked before pipes run, so this would have no effect on them: leave it out, or write the pipe at the body alone, as in @Body(new ValidationPipe({ ... }))`,
  );
}

/**
 * Checks a pipe for all handlers.
 *
 * @throws TypeError when an option would change the operations of plants, or have no effect
 */
export function checkGlobalPipe(pipe: unknown): void {
  if (!(pipe instanceof ValidationPipe)) return;
  const { forbidNonWhitelisted } = listOptions(pipe);
  const option = forbidNonWhitelisted === true ? 'forbidNonWhitelisted' : findOption(pipe);
  if (option === undefined) return;
  throw new TypeError(
    `new ValidationPipe({ ${option} }) for all handlers: the operations of plants must stay as they are. Leave the option out, and write @UsePipes(new ValidationPipe({ ... })) at the controllers or handlers that want it`,
  );
}
