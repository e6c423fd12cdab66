import type { Type } from '@nestjs/common';
import {
  INTERCEPTORS_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
  SELF_DECLARED_DEPS_METADATA,
} from '@nestjs/common/internal';
import { ApiQuery } from '@nestjs/swagger';
import { CompiledDto } from '../validation/compiled-dto.js';
import { checkParameterDto, type Parameters } from './read-parameters.js';

// This file depends on an internal of Nest: how it records the parameters of handlers.

/** A decorated parameter of a handler, as Nest records it. */
interface RecordedParameter {
  readonly index: number;
  /** The name in `@Query('name')`. */
  readonly data?: unknown;
  readonly pipes: readonly unknown[];
  readonly schema?: unknown;
}

/** What a handler takes. */
export interface HandlerParameters {
  readonly body: CompiledDto | undefined;
  /** Undefined if there is nothing to check. */
  readonly query: Parameters | undefined;
  readonly path: Parameters | undefined;
}

type Place = keyof HandlerParameters;

const DECORATORS = { body: '@Body()', query: '@Query()', path: '@Param()' };
/** What TypeScript records for a parameter whose type is no declared class. */
const BUILT_IN = new Set<unknown>([Object, Array, String, Number, Boolean, BigInt, Date]);
const CLASS = 'AClass, a class whose members have validation rules (imported without "type")';
const PLACES = new Map<number, Place>([
  [RouteParamtypes.BODY, 'body'],
  [RouteParamtypes.QUERY, 'query'],
  [RouteParamtypes.PARAM, 'path'],
]);
const FILES = new Set<number>([RouteParamtypes.FILE, RouteParamtypes.FILES]);
/** What `FileInterceptor()` and the other interceptors of multer inject. */
const MULTER_OPTIONS = 'MULTER_MODULE_OPTIONS';

/** The pipes to suggest, by the type of a single parameter. */
const PIPES = new Map<unknown, string>([
  [Number, 'ParseIntPipe or ParseFloatPipe'],
  [Boolean, 'ParseBoolPipe'],
  [Array, 'ParseArrayPipe'],
  [Date, 'ParseDatePipe'],
]);

/** The parameters of one place, while they are collected. */
class Found {
  dto: CompiledDto | undefined;
  readonly singles = new Set<string>();
  readonly textNames = new Set<string>();

  get parameters(): Parameters | undefined {
    return this.dto !== undefined || this.textNames.size > 0 ? this : undefined;
  }
}

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
  const found = { body: new Found(), query: new Found(), path: new Found() };
  const kinds = Object.keys(recorded ?? {}).map((key) => Number(key.split(':')[0]));
  const takesForm = kinds.some((kind) => FILES.has(kind)) || readsForm(prototype, method);
  if (kinds.includes(RouteParamtypes.RAW_BODY)) {
    throw new TypeError(
      `${controller.name}.${method}, @RawBody(): Nest's own would get nothing: write that of durable-rest, such as @RawBody(['text/plain'], 100_000)`,
    );
  }
  for (const [index, parameter] of Object.values(recorded ?? {}).entries()) {
    const place = PLACES.get(kinds[index] ?? NaN);
    if (place === undefined) continue;
    try {
      if (place === 'body' && takesForm) {
        throw new TypeError(
          'the body of FileInterceptor() or @UploadedFile() is a form, and not JSON: write @Req() request, and read request.body',
        );
      }
      addParameter(place, parameter, types?.[parameter.index], found[place]);
    } catch (error) {
      const where = `${controller.name}.${method}, ${DECORATORS[place]}`;
      throw new TypeError(`${where}: ${(error as Error).message}`, { cause: error });
    }
  }
  for (const name of found.query.textNames) documentText(name, prototype, method);
  for (const { dto, textNames } of [found.query, found.path]) {
    for (const name of textNames) checkTextBeside(dto, name, `${controller.name}.${method}`);
  }
  const { body, query, path } = found;
  return { body: body.dto, query: query.parameters, path: path.parameters };
}

/** Whether an interceptor of the handler is one of multer. */
function readsForm(prototype: object, method: string): boolean {
  const handler = Reflect.get(prototype, method) as object;
  const interceptors = Reflect.getMetadata(INTERCEPTORS_METADATA, handler) as object[] | undefined;
  return (interceptors ?? []).some((one) => {
    const injected = Reflect.getMetadata(SELF_DECLARED_DEPS_METADATA, one) as
      { readonly param: unknown }[] | undefined;
    return injected?.some(({ param }) => param === MULTER_OPTIONS);
  });
}

/** @throws TypeError when the parameter would not be checked */
function addParameter(
  place: Place,
  { data, pipes, schema }: RecordedParameter,
  type: Type<object> | undefined,
  found: Found,
): void {
  if (place !== 'body' && typeof data === 'string') {
    if (type === String) found.textNames.add(data);
    // A pipe gets the single text.
    else if (pipes.length === 0) throw new TypeError(explainSingle(place, data, type));
    found.singles.add(data);
    return;
  }
  const isPart = data !== undefined || schema !== undefined;
  if (isPart || type === undefined || BUILT_IN.has(type)) throw new TypeError(explainType(place));
  if (found.dto !== undefined) throw new TypeError('write it once');
  found.dto = CompiledDto.forRequests(type);
  if (place !== 'body') checkParameterDto(found.dto);
  if (place === 'query') found.dto.documentTexts();
}

function explainSingle(place: Place, name: string, type: unknown): string {
  const pipe = PIPES.get(type) ?? 'ParseIntPipe';
  return `give the single parameter "${name}" a pipe, such as ${pipe}, or write ${declare(place)}`;
}

function explainType(place: Place): string {
  if (place === 'body') return `write ${declare(place)}, since a body is one JSON object`;
  const single = `${DECORATORS[place].slice(0, -1)}'name') name: string`;
  return `write ${single}, or ${declare(place)}`;
}

function declare(place: Place): string {
  return `${DECORATORS[place]} ${place}: ${CLASS}`;
}

/** A single parameter gets what the class has read under its name. */
function checkTextBeside(dto: CompiledDto | undefined, name: string, handler: string): void {
  const member = dto?.members.find(({ jsonName }) => jsonName === name);
  if (dto === undefined || member === undefined || member.schema.type === 'string') return;
  throw new TypeError(
    `${handler}: "${name}" is a member of ${dto.type.name}, and no text: read it from there`,
  );
}

/** A text of a query may be left out, unless its author documents it as required. */
function documentText(name: string, prototype: object, method: string): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method);
  if (descriptor === undefined) return;
  const documented = Reflect.getMetadata('swagger/apiParameters', descriptor.value as object) as
    { readonly name?: string }[] | undefined;
  if (documented?.some((one) => one.name === name)) return;
  ApiQuery({ name, required: false, type: String })(prototype, method, descriptor);
}
