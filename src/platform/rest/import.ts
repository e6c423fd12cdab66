import { applyDecorators, HttpCode, type Type } from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiOkResponse, ApiProperty, ApiSchema } from '@nestjs/swagger';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ListOutcome } from '../database/batched-repository.js';
import { ConstraintError } from '../database/constraint.error.js';
import { ApiError } from '../errors/api-error.js';
import type { ErrorKind } from '../errors/error-catalogue.js';
import { importedLines } from '../observability/metrics.js';
import { type BodyLines, NDJSON_TYPE, type ReadLines } from '../requests/body-lines.js';
import { BODY_LIMIT } from '../requests/body-reader.js';
import { BodyByRule } from '../requests/request-binding.guard.js';
import { endTurn, Turns } from '../requests/turns.js';
import { CompiledDto } from '../validation/compiled-dto.js';
import { describeLines } from './page.js';

export type { BodyLines };

/** How many failures an answer lists. */
const MAX_FAILURES = 1_000;
/** About how much memory a listed failure takes at most, in bytes. */
const FAILURE_BYTES = 512;
/** The longest pause of an import after a batch, in milliseconds. */
const MAX_PAUSE_MS = 1_000;

@ApiSchema({ name: 'ImportFailure' })
class ImportFailureDto {
  @ApiProperty({ description: 'The number of the line, from 1', type: 'integer' })
  readonly line!: number;

  @ApiProperty({ description: 'As `error` of Error', type: 'integer', format: 'int32' })
  readonly error!: number;

  @ApiProperty({ description: 'As `message` of Error', type: 'string' })
  readonly message!: string;
}

/** The outcome of an import. */
@ApiSchema({ name: 'ImportResult' })
export class ImportResultDto {
  @ApiProperty({ description: 'How many lines were stored', type: 'integer' })
  created = 0;

  @ApiProperty({ description: 'How many lines were stored already', type: 'integer' })
  identical = 0;

  @ApiProperty({ description: 'How many lines were refused', type: 'integer' })
  failed = 0;

  @ApiProperty({
    description: `The first ${MAX_FAILURES} that were refused`,
    type: [ImportFailureDto],
  })
  readonly failures: ImportFailureDto[] = [];
}

/**
 * Stores the lines of a body, one batch after another. Of several lines with the same key, the
 * first wins. A refused line fails alone. After each batch, an import pauses as long as the batch
 * took if other requests are being handled.
 *
 * @param createAll stores the values of a batch
 * @param keyTaken the error of a line whose key a different row has
 * @throws ApiError 40800, 41500, 50300; lines that have been stored stay stored
 * @throws RequestAbortedError when the client has left; batches that have not started are not stored
 */
export async function importLines<Dto extends object>(
  body: BodyLines<Dto>,
  createAll: (values: readonly Dto[]) => Promise<ListOutcome>,
  keyTaken: ErrorKind,
): Promise<ImportResultDto> {
  const { response } = body;
  const result = new ImportResultDto();
  for await (const readLines of body) {
    await Turns.ofBatches.take(response);
    const began = performance.now();
    try {
      await storeLines(readLines(), createAll, keyTaken, result);
    } finally {
      endTurn(response);
    }
    body.resultBytes = result.failures.length * FAILURE_BYTES;
    if (Turns.ofHandlers.isIdle) continue;
    await sleep(Math.min(performance.now() - began, MAX_PAUSE_MS));
  }
  return result;
}

async function storeLines<Dto>(
  { values, numbers, failures: failed }: ReadLines<Dto>,
  createAll: (values: readonly Dto[]) => Promise<ListOutcome>,
  keyTaken: ErrorKind,
  result: ImportResultDto,
): Promise<void> {
  const outcome = await createAll(values);
  for (const [place, failure] of outcome.failures) {
    const error = failure === 'different' ? new ApiError(keyTaken) : toFailure(failure);
    failed.set(numbers[place] ?? 0, error);
  }
  const counts = { ...outcome, failed: failed.size };
  for (const name of ['created', 'identical', 'failed'] as const) {
    result[name] += counts[name];
    importedLines.inc({ outcome: name }, counts[name]);
  }
  const inOrder = [...failed].sort(([line], [other]) => line - other);
  for (const [line, { body }] of inOrder.slice(0, MAX_FAILURES - result.failures.length)) {
    result.failures.push({ line, ...body });
  }
}

/** @throws the error, unless it concerns only the line */
function toFailure(error: unknown): ApiError {
  const failure = error instanceof ConstraintError ? error.toApiError() : error;
  if (failure instanceof ApiError && failure.status < 500) return failure;
  throw error;
}

/** Passes a handler the lines of the body, each checked like a body of this class. */
export function Lines(type: Type<object>): ParameterDecorator {
  const dto = CompiledDto.compile(type);
  return BodyByRule({ mediaTypes: [NDJSON_TYPE], limit: BODY_LIMIT, dto, isLines: true });
}

/**
 * Accepts a body of any number of lines of this class. The handler returns an {@link
 * ImportResultDto}.
 */
export function ApiImport(type: Type, description: string): MethodDecorator {
  return applyDecorators(
    HttpCode(200),
    ApiBody({ required: true, schema: describeLines(type) }),
    ApiExtraModels(type),
    ApiOkResponse({ description, type: ImportResultDto }),
  );
}
