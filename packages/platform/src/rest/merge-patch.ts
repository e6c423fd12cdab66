import type { Type } from '@nestjs/common';
import { type Json, type JsonObject, JsonText, parseJson, writeJson } from 'durable-store/json';
import { assertValid } from '../requests/body-reader.js';
import { CompiledDto } from '../validation/compiled-dto.js';
import { makePatchClass } from '../validation/patch-class.js';

/** A JSON merge patch (RFC 7396) of a DTO: each member may be left out, and null removes it. */
export type MergePatchOf<Dto> = { [Member in keyof Dto]?: Dto[Member] | null };

/**
 * Makes the class of the merge patches of a DTO. Its members are optional, and have the rules of
 * the DTO. null removes an optional member, and is refused for a required one.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc7396 RFC 7396}
 * @example
 * ```ts
 * class PlantPatchDto extends MergePatch(PlantDto) {}
 * ```
 */
export function MergePatch<Dto extends object>(base: Type<Dto>): Type<MergePatchOf<Dto>> {
  return makePatchClass(base);
}

/**
 * Applies a merge patch, and checks the result by the rules of the DTO.
 *
 * @param base the class of the result
 * @param current the stored values, which are not modified
 * @param patch an instance of the class that {@link MergePatch} has made
 * @returns a new instance of `base`
 * @throws ApiError 40002 when the result is not valid
 * @see {@link https://www.rfc-editor.org/rfc/rfc7396 RFC 7396}
 * @example
 * ```ts
 * const patched = applyMergePatch(PlantDto, { name: 'Monstera', tag: 'indoor' }, { tag: null });
 * // The name, without a tag
 * ```
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
