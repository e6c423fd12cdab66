import type { Type } from '@nestjs/common';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { type ExactJson, parseExact, stringifyExact } from '../json/exact-json.js';
import { JsonText } from '../json/json-text.js';
import { CompiledDto, makePatchClass } from '../validation/compiled-dto.js';
import { ValidationErrors } from '../validation/validation-errors.js';

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
  const errors = new ValidationErrors();
  dto.check(result, errors);
  if (errors.isEmpty) return result;
  throw new ApiError(
    ErrorCatalogue.INVALID_BODY,
    `The patched result would not be valid: ${String(errors)}`,
  );
}

function merge({ type, members }: CompiledDto, current: object, patch: object): object {
  const result = new type() as Record<string, unknown>;
  for (const { name, nested } of members) {
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
  const target = before instanceof JsonText ? parseExact(before.text) : undefined;
  return new JsonText(stringifyExact(mergeExact(target, parseExact(change.text))));
}

/** Applies a JSON merge patch (RFC 7396 section 2). */
export function mergeExact(target: ExactJson | undefined, patch: ExactJson): ExactJson {
  if (!(patch instanceof Map)) return patch;
  const merged = new Map<string, ExactJson>(
    target instanceof Map ? (target as ReadonlyMap<string, ExactJson>) : [],
  );
  for (const [name, value] of patch as ReadonlyMap<string, ExactJson>) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergeExact(merged.get(name), value));
  }
  return merged;
}
