import { ValidationPipe, type ValidationPipeOptions } from '@nestjs/common';
import { PIPES_METADATA, RouteParamtypes, ROUTE_ARGS_METADATA } from '@nestjs/common/internal';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';

// This file depends on internals of Nest 12: how it records pipes, and where a ValidationPipe keeps its
// options.

/**
 * Lists the ValidationPipes that the author of a handler wrote for its body: at the controller, at the
 * handler or at the parameter. They check the body in place of this program.
 */
export function listOwnPipes(controller: InstanceWrapper, method: string): ValidationPipe[] {
  const type = controller.metatype as { readonly prototype: Record<string, object> };
  const { [method]: handler = {} } = type.prototype;
  const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, type, method) as
    Record<string, { readonly pipes?: readonly unknown[] }> | undefined;
  const ofBody = Object.entries(parameters ?? {}).flatMap(([key, { pipes = [] }]) =>
    key.startsWith(`${RouteParamtypes.BODY}:`) ? pipes : [],
  );
  const pipes = [
    ...((Reflect.getMetadata(PIPES_METADATA, type) as unknown[] | undefined) ?? []),
    ...((Reflect.getMetadata(PIPES_METADATA, handler) as unknown[] | undefined) ?? []),
    ...ofBody,
  ];
  return pipes
    .map((pipe): unknown =>
      typeof pipe === 'function' ? controller.host?.injectables.get(pipe)?.instance : pipe,
    )
    .filter((pipe) => pipe instanceof ValidationPipe);
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
 * @throws TypeError when an option would have no effect
 */
export function checkParameterPipe(pipe: ValidationPipe): void {
  const option = findOption(pipe);
  if (option === undefined) return;
  throw new TypeError(
    `new ValidationPipe({ ${option} }): a path and a query are checked before pipes run, so this would have no effect on them: write the pipe at the body, as in @Body(new ValidationPipe({ ... }))`,
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
