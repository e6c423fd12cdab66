import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { JsonSyntaxError, NotAnObjectError, readJson } from '../json/json-reader.js';
import { Faults } from '../validation/validation-errors.js';
import type { RequestClass } from '../validation/compiled-dto.js';
import { readJsonText } from './body-reader.js';

/**
 * The JSON body of a request, as an instance of a class. It is read when it is first awaited: Nest
 * awaits the parameters of a handler after the last guard, so no refused request has its body read.
 */
export class JsonBody implements PromiseLike<object> {
  private read: Promise<object> | undefined;

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly requestClass: RequestClass,
  ) {}

  /** Rejects with ApiError 40001, 40002, 41300, 41500 or RequestAbortedError. */
  then<Result = object, Failure = never>(
    onFulfilled?: ((body: object) => Result | PromiseLike<Result>) | null,
    onRejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    this.read ??= this.readOnce();
    return this.read.then(onFulfilled, onRejected);
  }

  private async readOnce(): Promise<object> {
    return parseBody(await readJsonText(this.request, this.response), this.requestClass);
  }
}

/**
 * Reads JSON text as an instance of a class, in time linear in the text, whatever it is.
 *
 * @throws ApiError 40001, 40002
 */
export function parseBody(text: string, requestClass: RequestClass): object {
  const body = readObject(text, requestClass);
  if (requestClass.accepts(body)) return body;
  const faults = new Faults();
  requestClass.findFaults(body, faults);
  throw new ApiError(ErrorCatalogue.INVALID_BODY, `The body is not valid: ${String(faults)}`);
}

function readObject(text: string, { shape }: RequestClass): object {
  try {
    return readJson(text, shape);
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, error.message);
    }
    if (error instanceof NotAnObjectError) {
      throw new ApiError(ErrorCatalogue.INVALID_BODY, 'The body must be a JSON object');
    }
    throw error;
  }
}
