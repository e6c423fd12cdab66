import { ValidationPipe } from '@nestjs/common';
import { PIPES_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/internal';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';
import type { Json } from 'durable-store/json';
import type { CompiledDto, Member } from '../validation/compiled-dto.js';

/**
 * Whether a handler refuses the members of a body that its class does not name: by Nest's
 * `new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true })` at the handler, at its
 * controller or at a parameter.
 */
export function refusesUnknownMembers(controller: InstanceWrapper, method: string): boolean {
  const type = controller.metatype as { readonly prototype: Record<string, object> };
  const { [method]: handler = {} } = type.prototype;
  const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, type, method) as
    Record<string, { readonly pipes?: readonly unknown[] }> | undefined;
  const pipes = [
    ...((Reflect.getMetadata(PIPES_METADATA, type) as unknown[] | undefined) ?? []),
    ...((Reflect.getMetadata(PIPES_METADATA, handler) as unknown[] | undefined) ?? []),
    ...Object.values(parameters ?? {}).flatMap((parameter) => parameter.pipes ?? []),
  ];
  return pipes.some((pipe) => {
    const isClass = typeof pipe === 'function';
    return forbidsUnknown(isClass ? controller.host?.injectables.get(pipe)?.instance : pipe);
  });
}

/** Whether a pipe has the option of class-validator that refuses unknown members. */
export function forbidsUnknown(pipe: unknown): boolean {
  if (!(pipe instanceof ValidationPipe)) return false;
  const { validatorOptions } = pipe as unknown as {
    readonly validatorOptions: { readonly forbidNonWhitelisted?: boolean };
  };
  return validatorOptions.forbidNonWhitelisted === true;
}

/** Lists the paths of members that a class does not name, in JSON that was read whole. */
export function* listUnknownMembers(dto: CompiledDto, json: Json, parent = ''): Generator<string> {
  if (!(json instanceof Map)) return;
  for (const [name, value] of json) {
    const member = dto.members.find(({ jsonName }) => jsonName === name);
    const path = parent + name;
    if (member === undefined) yield path;
    else if (!Array.isArray(value)) yield* listInMember(member, value, path);
    else {
      for (const [index, element] of value.entries()) {
        yield* listInMember(member, element, `${path}.${index}`);
      }
    }
  }
}

function* listInMember(member: Member, json: Json, path: string): Generator<string> {
  const { nested, subTypes, discriminator } = member;
  if (nested === undefined || !(json instanceof Map)) return;
  if (discriminator === undefined) {
    yield* listUnknownMembers(nested, json, `${path}.`);
    return;
  }
  const { property } = discriminator;
  const dto = subTypes.get(json.get(property)) ?? nested;
  const others = new Map([...json].filter(([name]) => name !== property));
  yield* listUnknownMembers(dto, others, `${path}.`);
}
