import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { type Json, JsonSyntaxError, parseJson } from '../json/json.js';
import { type CompiledDto, joinFaults } from '../validation/compiled-dto.js';

const JSON_TYPES = ['application/json'];
const MERGE_PATCH_TYPES = ['application/merge-patch+json', ...JSON_TYPES];

/** Lists the media types of bodies for a DTO. */
export function listMediaTypes({ patched }: CompiledDto): string[] {
  return patched === undefined ? JSON_TYPES : MERGE_PATCH_TYPES;
}

/**
 * Parses and checks JSON text as an instance of a class, in time linear in the length of the text.
 *
 * @param noun the name of the text in messages
 * @throws ApiError 40001, 40002
 */
export function parseObject(text: string, dto: CompiledDto, noun: 'body' | 'line'): object {
  const json = parseText(text, noun);
  if (!(json instanceof Map)) {
    throw new ApiError(ErrorCatalogue.INVALID_BODY, `The ${noun} must be a JSON object`);
  }
  const object = dto.read(json);
  const faults: string[] = [];
  dto.check(object, faults);
  if (faults.length === 0) return object;
  const message = `The ${noun} is not valid: ${joinFaults(faults)}`;
  throw new ApiError(ErrorCatalogue.INVALID_BODY, message);
}

function parseText(text: string, noun: string): Json {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, `The ${noun} ${error.message}`);
  }
}
