import type { Type } from '@nestjs/common';
import { type Json, type JsonObject, JsonText, parseJson, writeJson } from 'durable-store/json';
import { assertValid } from '../requests/body-reader.js';
import { CompiledDto } from '../validation/compiled-dto.js';
import { makePatchClass } from '../validation/patch-class.js';

/** A JSON merge patch (RFC 7396) of a DTO: each member may be left out, and null removes it. */
export type MergePatchOf<Dto> = { [Member in keyof Dto]?: Dto[Member] | null };

/**
 * Makes the class of the merge patches of a DTO: `class PlantPatchDto extends MergePatch(PlantDto)
 * {}`. Its members have the rules of the DTO. null is refused for a required member.
 */
export function MergePatch<Dto extends object>(base: Type<Dto>): Type<MergePatchOf<Dto>> {
  return makePatchClass(base);
}

/**
 * Applies a merge patch, and checks the result by the rules of the DTO.
 *
 * @param current the stored values, which are not modified
 * @throws ApiError 40002 the result is not valid
 */
export function applyMergePatch<Dto extends object>(
  base: Type<Dto>,
  current: Dto,
  patch: MergePatchOf<Dto>,
): Dto {
  const dto = CompiledDto.compile(base);
  const result = merge(dto, current, patch) as Dto;
  assertValid(dto, result, 'The patched result would not be valid');
  return result;
}

function merge({ type, members }: CompiledDto, current: object, patch: object): object {
  const result = new type() as Record<string, unknown>;
  for (const { name, nested, isComputed } of members) {
    if (isComputed) continue;
    const before = (current as Record<string, unknown>)[name];
    const change = (patch as Record<string, unknown>)[name];
    if (change === undefined) result[name] = before;
    else if (change === null) result[name] = undefined;
    else if (nested !== undefined && !Array.isArray(change)) {
      result[name] = merge(nested, before ?? new nested.type(), change);
    } else result[name] = mergeValue(before, change);
  }
  return result;
}

function mergeValue(before: unknown, change: unknown): unknown {
  if (!(change instanceof JsonText)) return change;
  const target = before instanceof JsonText ? parseJson(before.text) : undefined;
  return new JsonText(writeJson(mergeJson(target, parseJson(change.text))));
}

/** Applies a JSON merge patch (RFC 7396 section 2). */
export function mergeJson(target: Json | undefined, patch: Json): Json {
  if (!(patch instanceof Map)) return patch;
  const merged: JsonObject = new Map(target instanceof Map ? target : []);
  for (const [name, value] of patch) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergeJson(merged.get(name), value));
  }
  return merged;
}
