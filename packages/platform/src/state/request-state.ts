import type { Response } from 'express';
import type { ApiError } from '../errors/api-error.js';
import type { Holding } from '../limits/fair-share.js';
import type { RequestLimits } from '../limits/request-limits.js';

/**
 * The sender of a request, as its valid token names it.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc7519#section-4.1.2 RFC 7519 section 4.1.2}
 * @example
 * ```ts
 * function describeCaller({ user, client = 'unknown' }: RequestCaller): string {
 *   return user === undefined ? client : `${user} by ${client}`;
 * }
 * ```
 */
export interface RequestCaller {
  /** The name of a static token, or the client that a JWT was issued to. */
  readonly client?: string | undefined;
  /** The user that a JWT was issued for, its `sub`. */
  readonly user?: string | undefined;
  /** The scopes of a JWT; undefined for a static token, which needs none. */
  readonly scopes?: readonly string[] | undefined;
}

/**
 * What the program knows about a request while it handles it. The server makes one for each. All
 * members are set at the beginning: V8 would copy an object that gets more of them later.
 */
export class RequestState {
  /** Identifies the request in the log and in `X-Request-Id`. */
  id = '';
  /** Whether its connection was opened when there were too many. */
  isOverLimit = false;
  /** Stands for its valid token; undefined until one was found. */
  client: string | undefined = undefined;
  /** Undefined for a request without a valid token. */
  caller: RequestCaller | undefined = undefined;
  /** Its query as it was sent; undefined if the handler has no `@Query()`. */
  sentQuery: URLSearchParams | undefined = undefined;
  /** The code of the error that was answered, or that aborted the answer. */
  error: number | undefined = undefined;
  /** Makes the body of the answer from the result of the handler; undefined to send the result. */
  convertResult: ((result: unknown, response: Response) => unknown) | undefined = undefined;
  /** Ends the turn that it has; undefined while it has none. */
  endTurn: (() => void) | undefined = undefined;
  /** Ends its wait for a turn with an error; undefined while it does not wait. */
  leaveQueue: (() => void) | undefined = undefined;
  /** Why the rest of the body cannot be parsed; undefined while it can. */
  bodyError: ApiError | undefined = undefined;
  /** Ends the reading of the body with an error; undefined while the program does not read it. */
  failBody: ((error: ApiError) => void) | undefined = undefined;
  /** The bytes of its answer that its client has not taken; undefined if the system took all. */
  unsent: Holding | undefined = undefined;
  /** Headers of the answer unless it has its own ones. Each name is followed by its value. */
  readonly defaultHeaders: string[] = [];

  constructor(readonly limits: RequestLimits) {}
}

declare module 'express-serve-static-core' {
  interface Request {
    readonly state: RequestState;
  }
}
