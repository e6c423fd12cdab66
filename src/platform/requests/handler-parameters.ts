import type { Type } from '@nestjs/common';
import { ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import { isRejectedByPipes } from '@nestjs/core/internal';
import { CompiledDto } from '../validation/compiled-dto.js';
import { checkParameterDto } from './read-parameters.js';

// This file depends on internals of Nest: how it records the parameters of handlers, and how it
// marks a request that a pipe has rejected.
export { isRejectedByPipes };

/** A decorated parameter of a handler, as Nest records it. */
interface RecordedParameter {
  readonly index: number;
  /** The name in `@Query('name')`. */
  readonly data?: unknown;
  readonly pipes: readonly unknown[];
  readonly schema?: unknown;
}

/** The classes of the parameters that a handler has. */
export type HandlerParameters = Partial<Record<'body' | 'query' | 'path', CompiledDto>>;

const DECORATORS = { body: '@Body()', query: '@Query()', path: '@Param()' };
/** What TypeScript records for a parameter whose type is no declared class. */
const BUILT_IN = new Set<unknown>([Object, Array, String, Number, Boolean, BigInt]);
const CLASS = 'AClass, a class whose members have validation rules (imported without "type")';
const PLACES = new Map<number, keyof HandlerParameters>([
  [RouteParamtypes.BODY, 'body'],
  [RouteParamtypes.QUERY, 'query'],
  [RouteParamtypes.PARAM, 'path'],
]);

/**
 * Reads the parameters that a handler declares with `@Body()`, `@Query()` and `@Param()`.
 *
 * @throws TypeError when a parameter would not be checked; the message says what to write
 */
export function readHandlerParameters(controller: Type<object>, method: string): HandlerParameters {
  const recorded = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) as
    Record<string, RecordedParameter> | undefined;
  const prototype = controller.prototype as object;
  const types = Reflect.getMetadata('design:paramtypes', prototype, method) as
    Type<object>[] | undefined;
  const found: HandlerParameters = {};
  for (const [key, parameter] of Object.entries(recorded ?? {})) {
    const place = PLACES.get(Number(key.split(':')[0]));
    if (place === undefined) continue;
    try {
      const dto = compileParameter(place, parameter, types?.[parameter.index]);
      if (dto === undefined) continue;
      if (found[place] !== undefined) throw new TypeError('write it once');
      found[place] = dto;
    } catch (error) {
      const where = `${controller.name}.${method}, ${DECORATORS[place]}`;
      throw new TypeError(`${where}: ${(error as Error).message}`, { cause: error });
    }
  }
  return found;
}

/** @returns undefined for a single parameter, which its own pipe checks */
function compileParameter(
  place: keyof HandlerParameters,
  { data, pipes, schema }: RecordedParameter,
  type: Type<object> | undefined,
): CompiledDto | undefined {
  if (place !== 'body' && typeof data === 'string' && pipes.length > 0) return undefined;
  if (data !== undefined || schema !== undefined || type === undefined || BUILT_IN.has(type)) {
    const orPipe = place === 'body' ? '' : ', or give the single parameter a pipe';
    throw new TypeError(`write ${DECORATORS[place]} ${place}: ${CLASS}${orPipe}`);
  }
  const dto = CompiledDto.compile(type);
  if (place !== 'body') checkParameterDto(dto);
  return dto;
}
