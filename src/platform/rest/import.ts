import {
  applyDecorators,
  type BeforeApplicationShutdown,
  createParamDecorator,
  type ExecutionContext,
  HttpCode,
  Injectable,
  Logger,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiExtraModels,
  ApiOkResponse,
  ApiProperty,
  ApiSchema,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Env } from '../config/env.js';
import type { ListOutcome } from '../database/batched-repository.js';
import { ConstraintError } from '../database/constraint.error.js';
import { ApiError } from '../errors/api-error.js';
import type { ErrorKind } from '../errors/error-catalogue.js';
import { importedLines } from '../observability/metrics.js';
import { BodyLines, type LineBatch, NDJSON_TYPE } from '../requests/body-lines.js';
import { endTurn, Turns } from '../requests/request-turns.js';
import { CompiledDto } from '../validation/compiled-dto.js';
import { describeLines } from './page.js';

export type { BodyLines };

/** How many failures an answer lists. */
const MAX_FAILURES = 1_000;
/** How long an import leaves the store to others after a batch at most, in milliseconds. */
const MAX_PAUSE_MS = 1_000;
/** How often the log says how far an import is, in milliseconds. */
const PROGRESS_MS = 10_000;

const logger = new Logger('Import');

@ApiSchema({ name: 'ImportFailure' })
class ImportFailureDto {
  @ApiProperty({ description: 'The number of the line, from 1', type: 'integer' })
  readonly line!: number;

  @ApiProperty({ description: 'As `error` of Error', type: 'integer', format: 'int32' })
  readonly error!: number;

  @ApiProperty({ description: 'As `message` of Error', type: 'string' })
  readonly message!: string;
}

/** What became of the lines of an import. */
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
 * Stores the lines of a body batch by batch, each after the one before, so that of lines with one key
 * the first wins. A line that is refused fails alone.
 *
 * @param createAll stores the values of a batch
 * @param keyTaken the error of a line whose key something else has
 * @throws ApiError 40800, 41500, 50300: what was stored stays so
 */
export async function importLines<Dto>(
  batches: AsyncIterable<LineBatch<Dto>>,
  createAll: (values: readonly Dto[]) => Promise<ListOutcome>,
  keyTaken: ErrorKind,
): Promise<ImportResultDto> {
  const result = new ImportResultDto();
  const progress = setInterval(() => logger.log(describe(result)), PROGRESS_MS);
  let storing: Promise<void> | undefined;
  try {
    for await (const batch of batches) {
      // The next batch is read while this one is stored.
      await storing;
      storing = shareTime(() => storeLines(batch, createAll, keyTaken, result));
      storing.catch(() => undefined);
    }
    return result;
  } finally {
    // An answer that something was stored, or a refusal, comes when nothing is under way.
    await storing;
    clearInterval(progress);
    logger.log(describe(result));
  }
}

/** Leaves other requests that are under way as much time as the work has taken. */
async function shareTime(work: () => Promise<void>): Promise<void> {
  const began = performance.now();
  await work();
  if (Turns.ofHandlers.isIdle) return;
  await sleep(Math.min(performance.now() - began, MAX_PAUSE_MS));
}

async function storeLines<Dto>(
  { values, numbers, failures }: LineBatch<Dto>,
  createAll: (values: readonly Dto[]) => Promise<ListOutcome>,
  keyTaken: ErrorKind,
  result: ImportResultDto,
): Promise<void> {
  const outcome = await createAll(values);
  const failed = new Map(failures);
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

/** @throws unless it is about the line alone */
function toFailure(error: unknown): ApiError {
  const failure = error instanceof ConstraintError ? error.toApiError() : error;
  if (failure instanceof ApiError && failure.status < 500) return failure;
  throw error;
}

function describe({ created, identical, failed }: ImportResultDto): string {
  return `${created + identical + failed} lines: ${created} created, ${identical} identical, ${failed} failed`;
}

type LineSource = readonly [request: Request, response: Response, dto: CompiledDto];

@Injectable()
class LinesPipe implements PipeTransform<LineSource>, BeforeApplicationShutdown {
  private readonly stop = new AbortController();

  constructor(private readonly env: Env) {
    // Any number of imports listen to it.
    setMaxListeners(0, this.stop.signal);
  }

  transform([request, response, dto]: LineSource): BodyLines<object> {
    const { stop, env } = this;
    // It may wait for its client for hours. The rows of its lines are counted where they wait.
    endTurn(response);
    return new BodyLines(request, response, dto, env.REQUEST_TIMEOUT_MS, stop.signal);
  }

  beforeApplicationShutdown(): void {
    this.stop.abort();
  }
}

const InjectLineSource = createParamDecorator((dto: CompiledDto, context: ExecutionContext) => {
  const [request, response] = context.getArgs<[Request, Response]>();
  return [request, response, dto] satisfies LineSource;
});

/** Gives a handler the lines of the body, each checked as a body of this class. */
export function Lines(type: Type<object>): ParameterDecorator {
  return InjectLineSource(CompiledDto.compile(type), LinesPipe);
}

/** Takes any number of lines of this class. The handler returns an {@link ImportResultDto}. */
export function ApiImport(type: Type, description: string): MethodDecorator {
  return applyDecorators(
    HttpCode(200),
    ApiConsumes(NDJSON_TYPE),
    ApiBody({ required: true, schema: describeLines(type) }),
    ApiExtraModels(type),
    ApiOkResponse({ description, type: ImportResultDto }),
  );
}
