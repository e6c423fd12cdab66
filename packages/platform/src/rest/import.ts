import { applyDecorators, HttpCode, type Type } from '@nestjs/common';
import {
  ApiBody,
  ApiExtension,
  ApiExtraModels,
  ApiOkResponse,
  ApiProperty,
  ApiSchema,
  getSchemaPath,
} from '@nestjs/swagger';
import { toApiError } from '../store/store-errors.js';
import type { ListOutcome } from 'durable-store';
import { ApiError } from '../errors/api-error.js';
import type { ErrorDto } from '../errors/error.dto.js';
import type { ErrorKind } from '../errors/error-catalogue.js';
import { type BodyLines, NDJSON_TYPE, type ReadLines } from '../requests/body-lines.js';
import { BODY_LIMIT } from '../requests/body-reader.js';
import { BodyByRule } from '../requests/request-binding.js';
import { takeTurn } from '../limits/request-limits.js';
import { endTurn } from '../limits/request-turns.js';
import { CompiledDto } from '../validation/compiled-dto.js';
import { describeLines } from './page.js';

export type { BodyLines };

/** How many failures an answer lists. */
export const MAX_FAILURES = 1_000;
/** About how much memory a listed failure takes at most, in bytes. */
const FAILURE_BYTES = 512;

/** What may become of a line. */
const OUTCOMES = ['created', 'identical', 'failed'] as const;

@ApiSchema({ name: 'ImportFailure' })
class ImportFailureDto {
  @ApiProperty({ description: 'The number of the line, from 1', type: 'integer' })
  readonly line!: number;

  @ApiProperty({ description: 'As `error` of Error', type: 'integer', format: 'int32' })
  readonly error!: number;

  @ApiProperty({ description: 'As `message` of Error', type: 'string' })
  readonly message!: string;
}

/** What an import needs to know of a stored batch. */
type BatchOutcome = Pick<ListOutcome, 'created' | 'identical' | 'failures'>;

/**
 * The outcome of an import: three counts, and the first 1,000 lines that were refused, each with
 * its number from 1 and its error.
 *
 * @example
 * ```ts
 * function isComplete({ created, identical, failed }: ImportResultDto): boolean {
 *   return created + identical > 0 && failed === 0;
 * }
 * ```
 */
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
 * first wins. A refused line fails alone. While other requests are handled, all imports together
 * store one batch at a time, with a rest after it as long as the batch took, up to 1 second.
 *
 * @param body from {@link Lines}
 * @param createAll stores the values of a batch
 * @param keyTaken the error of a line whose key a different row has
 * @throws ApiError 40800, 41500, 50300; lines that have been stored stay stored
 * @throws RequestAbortedError when the client has left; batches that have not started are not
 *   stored
 * @example
 * ```ts
 * function importAll(lines: BodyLines<NewPlantDto>): Promise<ImportResultDto> {
 *   return importLines(lines, (rows) => plants.createAll(rows), PlantErrors.ID_IN_USE);
 * }
 * ```
 */
export async function importLines<Dto extends object>(
  body: BodyLines<Dto>,
  createAll: (values: readonly Dto[]) => Promise<BatchOutcome>,
  keyTaken: ErrorKind,
): Promise<ImportResultDto> {
  const { response } = body;
  const result = new ImportResultDto();
  for await (const batch of body) {
    await takeTurn(response, 'batches');
    try {
      const counts = await storeLines(await body.read(batch), createAll, keyTaken, result);
      for (const name of OUTCOMES) {
        result[name] += counts[name];
        body.counter.inc({ outcome: name }, counts[name]);
      }
    } finally {
      endTurn(response);
    }
    body.resultBytes = result.failures.length * FAILURE_BYTES;
  }
  return result;
}

/** Stores the lines of a batch, and adds its first failures to the result. Resolves with its counts. */
async function storeLines<Dto>(
  { values, numbers, failures: failed }: ReadLines<Dto>,
  createAll: (values: readonly Dto[]) => Promise<BatchOutcome>,
  keyTaken: ErrorKind,
  result: ImportResultDto,
): Promise<Record<(typeof OUTCOMES)[number], number>> {
  const outcome = await createAll(values);
  for (const [index, failure] of outcome.failures) {
    failed.set(numbers[index] ?? 0, failure === 'different' ? keyTaken : toFailure(failure));
  }
  const inOrder = [...failed].sort(([line], [other]) => line - other);
  const listed = inOrder.slice(0, MAX_FAILURES - result.failures.length);
  for (const [line, { error, message }] of listed) result.failures.push({ line, error, message });
  return { ...outcome, failed: failed.size };
}

/** @throws the error, unless it concerns only the line */
function toFailure(error: unknown): ErrorDto {
  const failure = toApiError(error) ?? error;
  if (failure instanceof ApiError && failure.getStatus() < 500) return failure.body;
  throw error;
}

/**
 * Passes a handler the lines of the body, each checked like a body of this class. A client gets
 * 41500 for a body that is not `application/x-ndjson`.
 *
 * @throws TypeError when a member of the class has no rule that says its type
 * @example
 * ```ts
 * @Post('import')
 * @ApiImport(NewPlantDto, 'The outcome of the import')
 * import(@Lines(NewPlantDto) plants: BodyLines<NewPlantDto>): Promise<ImportResultDto> {
 *   return this.plants.import(plants);
 * }
 * ```
 */
export function Lines(type: Type<object>): ParameterDecorator {
  const dto = CompiledDto.forRequests(type);
  return BodyByRule({ kind: 'lines', mediaTypes: [NDJSON_TYPE], limit: BODY_LIMIT, dto });
}

/**
 * Accepts a body of any number of lines of this class. The handler returns an {@link
 * ImportResultDto}.
 *
 * @param type the class of a line, the same as in {@link Lines}
 * @see {@link https://github.com/ndjson/ndjson-spec the specification of NDJSON}
 * @example
 * ```ts
 * @Post('import')
 * @ApiImport(NewPlantDto, 'The outcome of the import')
 * import(@Lines(NewPlantDto) plants: BodyLines<NewPlantDto>): Promise<ImportResultDto> {
 *   return this.plants.import(plants);
 * }
 * ```
 */
export function ApiImport(type: Type, description: string): MethodDecorator {
  return applyDecorators(
    HttpCode(200),
    ApiBody({ required: true, schema: describeLines(type) }),
    ApiExtraModels(type),
    ApiExtension('x-line', getSchemaPath(type)),
    ApiOkResponse({ description, type: ImportResultDto }),
  );
}
