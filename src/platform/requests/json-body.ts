import type { Request, Response } from 'express';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { type Json, JsonSyntaxError, parseJson } from '../json/json.js';
import { type CompiledDto, joinFaults } from '../validation/compiled-dto.js';
import { readJsonText } from './body-reader.js';
import { Turns } from './concurrent-requests.js';

/**
 * The JSON body of a request, as an instance of a class. It is read when it is first awaited. Nest
 * awaits the parameters of a handler after the last guard, so the body of a refused request is
 * never read.
 */
export class JsonBody implements PromiseLike<object> {
  private read: Promise<object> | undefined;

  constructor(
    private readonly request: Request,
    private readonly response: Response,
    private readonly dto: CompiledDto,
    private readonly timeoutMs: number,
    private readonly turns = Turns.ofHandlers,
  ) {}

  /** Rejects with ApiError 40001, 40002, 40800, 41300, 41500, 50300 or RequestAbortedError. */
  then<Result = object, Failure = never>(
    onFulfilled?: ((body: object) => Result | PromiseLike<Result>) | null,
    onRejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    this.read ??= this.readOnce();
    return this.read.then(onFulfilled, onRejected);
  }

  private async readOnce(): Promise<object> {
    const { request, response, dto, timeoutMs, turns } = this;
    const text = await readJsonText(request, response, listMediaTypes(dto), timeoutMs);
    await turns.take(request, response, text);
    return parseObject(text, dto, 'body');
  }
}

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
