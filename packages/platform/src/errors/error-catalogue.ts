/** One kind of error, as a client gets it. */
export interface ErrorKind {
  /**
   * The wire code, an int32 whose first three digits are the HTTP status. Codes of the platform
   * have five digits, and codes of modules five or six.
   */
  readonly error: number;
  /** The message, unless an error has a more specific one. */
  readonly message: string;
  /** Headers of every answer of this kind. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether a retry gets this error if the first attempt went through. */
  readonly isRetry?: boolean;
}

/** A documented kind of error. */
export interface ErrorEntry extends ErrorKind {
  /** Advice for the author of a client. */
  readonly advice: string;
}

const entriesByCode = new Map<number, ErrorEntry>();

/**
 * Adds errors to the catalogue. The first three digits of a code are the status of its answer, 4xx
 * or 5xx; two or three more follow. The advice is for the authors of clients.
 *
 * @returns the same entries, for `new ApiError()` and `@ApiErrors()`
 * @throws TypeError when a code is taken, or is not such a number
 * @example
 * ```ts
 * const BedErrors = defineErrors({
 *   BED_NOT_FOUND: {
 *     error: 404801,
 *     message: 'There is no bed with this id',
 *     advice: 'Create the bed first.',
 *   },
 * });
 * ```
 */
export function defineErrors<const Entries extends Readonly<Record<string, ErrorEntry>>>(
  entries: Entries,
): Entries {
  for (const entry of Object.values(entries)) {
    const { error, message } = entry;
    if (!/^[45]\d{4,5}$/.test(String(error))) {
      throw new TypeError(
        `The code ${error} of "${message}" is not a status from 400 to 599 and three digits`,
      );
    }
    const other = entriesByCode.get(error);
    if (other !== undefined) {
      throw new TypeError(`"${message}" and "${other.message}" have the same code, ${error}`);
    }
    entriesByCode.set(error, entry);
  }
  return entries;
}

/**
 * Lists all errors of the service and of the loaded features by code, with all errors of one status
 * together.
 *
 * @example
 * ```ts
 * for (const { error, advice } of listErrors()) console.log(`${error}: ${advice}`);
 * ```
 */
export function listErrors(): ErrorEntry[] {
  return [...entriesByCode.values()].sort(
    (a, b) => getStatus(a) - getStatus(b) || a.error - b.error,
  );
}

/**
 * Returns the HTTP status of a kind of error: the first three digits of its code.
 *
 * @example
 * ```ts
 * getStatus(PlantErrors.PLANT_NOT_FOUND); // 404
 * ```
 */
export function getStatus({ error }: Pick<ErrorKind, 'error'>): number {
  return Math.floor(error / (error < 100_000 ? 100 : 1_000));
}

/** The guard adds the name of the service, and what is wrong with the token. */
const CHALLENGE = { 'WWW-Authenticate': 'Bearer' };

/**
 * The errors that all features share, by their names. Each has a code, a message and advice.
 *
 * @example
 * ```ts
 * throw new ApiError(ErrorCatalogue.PRECONDITION_FAILED, 'The photo was replaced in the meantime');
 * ```
 */
export const ErrorCatalogue = defineErrors({
  MALFORMED_REQUEST: {
    error: 40000,
    message: 'The request is not well-formed HTTP',
    advice: 'Fix the HTTP client or the path.',
  },
  UNREADABLE_BODY: {
    error: 40001,
    message: 'The body is empty, not UTF-8, not JSON, or nested too deeply',
    advice: 'Send one JSON object, with at most 64 levels.',
  },
  INVALID_BODY: {
    error: 40002,
    message: 'The body is not valid',
    advice: 'Fix every fault that the message names.',
  },
  INVALID_PARAMETERS: {
    error: 40003,
    message: 'The query or the path is not valid',
    advice: 'Fix every fault that the message names.',
  },
  TOKEN_MISSING: {
    error: 40100,
    message: 'A bearer token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>"',
    advice: 'Send a bearer token.',
    headers: CHALLENGE,
  },
  TOKEN_REFUSED: {
    error: 40101,
    message: 'The bearer token is not accepted',
    advice: 'Get a valid token, and send it.',
    headers: CHALLENGE,
  },
  INSUFFICIENT_SCOPE: {
    error: 40300,
    message: 'The access token does not have the scope that this request needs',
    advice: 'Use a token that may write, or one with the scopes that WWW-Authenticate names.',
    headers: CHALLENGE,
  },
  NOT_FOUND: {
    error: 40400,
    message: 'There is nothing at this path',
    advice: 'Fix the path: a path is exact. For /changes, ask the operator to switch the feed on.',
  },
  METHOD_NOT_ALLOWED: {
    error: 40500,
    message: 'This path does not take this method',
    advice: 'Use a method that the header Allow names.',
  },
  REQUEST_TIMEOUT: {
    error: 40800,
    message: 'The request did not arrive in time',
    advice: 'Send the request again, over a faster connection.',
  },
  CONFLICT: {
    error: 40999,
    message: 'The request conflicts with a stored row',
    advice: 'Change the request as the message says.',
  },
  CHANGES_GONE: {
    error: 41000,
    message: 'The changes after this cursor are no longer kept: read everything again',
    advice: 'Take the latest cursor, read everything again, and follow from this cursor.',
  },
  PRECONDITION_FAILED: {
    error: 41200,
    message: 'The stored version is not the one that the request expects',
    advice: 'Read the resource again, and decide again.',
  },
  BODY_TOO_LARGE: {
    error: 41300,
    message: 'The body is larger than 102400 bytes',
    advice: 'Send a shorter body.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    error: 41500,
    message: 'The body is not of a media type that this operation takes',
    advice: 'Send the body uncompressed, with the Content-Type that the message names.',
  },
  EXPECTATION_FAILED: {
    error: 41700,
    message: 'The only expectation that can be met is 100-continue',
    advice: 'Send no Expect, or 100-continue.',
  },
  TOO_MANY_REQUESTS: {
    error: 42900,
    message: 'Too many requests; retry after the time that Retry-After gives',
    advice: 'Retry after the seconds that Retry-After names.',
    headers: { 'Retry-After': '1' },
  },
  HEADERS_TOO_LARGE: {
    error: 43100,
    message: 'The request headers are too large or too many',
    advice: 'Send fewer or shorter headers, or a shorter path.',
  },
  INTERNAL: {
    error: 50000,
    message: 'Something went wrong on the server',
    advice: 'Report the X-Request-Id of the answer, and read the resource: it may have changed.',
  },
  UNAVAILABLE: {
    error: 50300,
    message: 'The store is unavailable or overloaded; retry in a moment',
    advice:
      'Retry after the seconds that Retry-After names. If the message says that the request may have been stored, look for its row first.',
    headers: { 'Retry-After': '1' },
  },
});

/**
 * {@link ErrorCatalogue.UNAVAILABLE} for rows whose key the store generates: a retry cannot be
 * recognized.
 */
export const MAY_BE_STORED: ErrorEntry = {
  ...ErrorCatalogue.UNAVAILABLE,
  message:
    'The store is unavailable or overloaded. The request may have been stored: check before you retry, or it may be stored twice',
};
