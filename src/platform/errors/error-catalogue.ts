/** One kind of error, as a client gets it. */
export interface ErrorKind {
  /** The wire code, an int32: the HTTP status times 100 plus a number. */
  readonly error: number;
  /** The message, unless an error has a more specific one. */
  readonly message: string;
  /** Headers of every answer of this kind. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A documented kind of error. */
export interface ErrorEntry extends ErrorKind {
  /** The condition of the error, for the documents and the OpenAPI description. */
  readonly when: string;
  /** Advice for the author of a client. */
  readonly advice: string;
}

/** The codes of a feature: of each status, those from the first number to the last. */
export interface CodeBlock {
  readonly feature: string;
  readonly numbers: readonly [first: number, last: number];
}

const blocks: CodeBlock[] = [];
const entriesByCode = new Map<number, ErrorEntry>();

/**
 * Adds the errors of a feature to the catalogue. Each feature has ten numbers of each status: the
 * plants 0 to 9, the next feature 10 to 19 (40410, 40910, ...), and so on.
 *
 * @throws TypeError when the block or a code is taken, or a code is outside of the block
 */
export function defineErrors<const Entries extends Readonly<Record<string, ErrorEntry>>>(
  block: CodeBlock,
  entries: Entries,
): Entries {
  const { feature, numbers } = block;
  const [first, last] = numbers;
  const other = blocks.find((one) => first <= one.numbers[1] && last >= one.numbers[0]);
  if (other !== undefined) {
    throw new TypeError(`The errors of ${feature} take numbers of ${other.feature}`);
  }
  for (const { error } of Object.values(entries)) {
    if (error % 100 < first || error % 100 > last) {
      throw new TypeError(`The error ${error} of ${feature} is not among ${first} to ${last}`);
    }
  }
  blocks.push(block);
  return register(entries);
}

function register<Entries extends Readonly<Record<string, ErrorEntry>>>(entries: Entries): Entries {
  for (const entry of Object.values(entries)) {
    const { error } = entry;
    const status = getStatus(entry);
    if (status < 400 || status > 599) throw new TypeError(`The error ${error} has no error status`);
    if (entriesByCode.has(error)) throw new TypeError(`The error ${error} is defined twice`);
    entriesByCode.set(error, entry);
  }
  return entries;
}

/** Lists all errors of the service and of the loaded features by code. */
export function listErrors(): ErrorEntry[] {
  return [...entriesByCode.values()].sort((a, b) => a.error - b.error);
}

/** Returns the HTTP status of a kind of error. */
export function getStatus({ error }: ErrorKind): number {
  return Math.floor(error / 100);
}

/** The errors that all features share. */
export const ErrorCatalogue = register({
  MALFORMED_REQUEST: {
    error: 40000,
    message: 'The request is not well-formed HTTP',
    when: 'the request is not well-formed HTTP, or its path cannot be decoded',
    advice: 'Fix the HTTP client or the path.',
  },
  UNREADABLE_BODY: {
    error: 40001,
    message: 'The body is not JSON',
    when: 'the body is empty, not UTF-8, not JSON, or nested too deeply',
    advice: 'Send one JSON object, with at most 64 levels.',
  },
  INVALID_BODY: {
    error: 40002,
    message: 'The body is not valid',
    when: 'the body is JSON, but breaks a rule of the operation',
    advice: 'Fix every fault that the message names.',
  },
  INVALID_PARAMETERS: {
    error: 40003,
    message: 'The query or the path is not valid',
    when: 'a parameter of the query or the path is invalid, unknown or repeated',
    advice: 'Fix every fault that the message names.',
  },
  TOKEN_MISSING: {
    error: 40100,
    message: 'A bearer token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>"',
    when: 'the request has no bearer token',
    advice: 'Send a bearer token.',
    // RFC 6750 section 3: no error code when the request carries no credentials.
    headers: { 'WWW-Authenticate': 'Bearer realm="plant-store"' },
  },
  TOKEN_REFUSED: {
    error: 40101,
    message: 'The bearer token is not accepted',
    when: 'the bearer token is not accepted',
    advice: 'Get a valid token, and send it.',
    headers: {
      'WWW-Authenticate': 'Bearer realm="plant-store", error="invalid_token"',
    },
  },
  INSUFFICIENT_SCOPE: {
    error: 40300,
    message: 'The access token does not have the scope that this request needs',
    when: 'the token is good, but may only read, or lacks a scope that the request needs',
    advice: 'Use a token that may write, or one with the scopes that WWW-Authenticate names.',
    headers: {
      'WWW-Authenticate': 'Bearer realm="plant-store", error="insufficient_scope"',
    },
  },
  NOT_FOUND: {
    error: 40400,
    message: 'There is nothing at this path',
    when: 'the path does not exist',
    advice: 'Fix the path: a path is exact. For /changes, ask the operator to switch the feed on.',
  },
  METHOD_NOT_ALLOWED: {
    error: 40500,
    message: 'This path does not take this method',
    when: 'the path does not take this method',
    advice: 'Use a method that the header Allow names.',
  },
  REQUEST_TIMEOUT: {
    error: 40800,
    message: 'The request did not arrive in time',
    when: 'the request did not arrive in time',
    advice: 'Send the request again, over a faster connection.',
  },
  CONFLICT: {
    error: 40999,
    message: 'The request conflicts with a stored row',
    when: 'the request breaks a constraint of the store that has no error of its own',
    advice: 'Change the request as the message says.',
  },
  CHANGES_GONE: {
    error: 41000,
    message: 'The changes after this cursor are no longer kept: read everything again',
    when: 'the store has deleted changes after the cursor, or has begun a new epoch',
    advice: 'Take the latest cursor, read everything again, and follow from this cursor.',
  },
  PRECONDITION_FAILED: {
    error: 41200,
    message: 'The stored version is not the one that the request expects',
    when: '`If-Match` does not have the current ETag, or `If-None-Match` has it',
    advice: 'Read the resource again, and decide again.',
  },
  BODY_TOO_LARGE: {
    error: 41300,
    message: 'The body is larger than 102400 bytes',
    when: 'the body is larger than 102400 bytes, or its chunk extensions are too large',
    advice: 'Send a shorter body.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    error: 41500,
    message: 'The body is not of a media type that this operation takes',
    when: 'the operation does not take the media type, charset or encoding of the body',
    advice: 'Send the body uncompressed, with the Content-Type that the message names.',
  },
  EXPECTATION_FAILED: {
    error: 41700,
    message: 'The only expectation that can be met is 100-continue',
    when: 'the request has an `Expect` other than `100-continue`',
    advice: 'Send no Expect, or 100-continue.',
  },
  TOO_MANY_REQUESTS: {
    error: 42900,
    message: 'Too many requests; retry after the time that Retry-After gives',
    when: 'the client, or its address, has sent too many requests',
    advice: 'Retry after the seconds that Retry-After names.',
    headers: { 'Retry-After': '1' },
  },
  HEADERS_TOO_LARGE: {
    error: 43100,
    message: 'The request headers are too large or too many',
    when: 'the headers are too large or too many',
    advice: 'Send fewer or shorter headers, or a shorter path.',
  },
  INTERNAL: {
    error: 50000,
    message: 'Something went wrong on the server',
    when: 'the program has a bug; only the log has the details',
    advice: 'Report the X-Request-Id of the answer, and read the resource: it may have changed.',
  },
  UNAVAILABLE: {
    error: 50300,
    message: 'The store is unavailable or overloaded; retry in a moment',
    when: 'the service is busy or stopping, or the store or the identity provider is unavailable',
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
  when: 'the service is busy or stopping, or the store or the identity provider is unavailable; a retry may store a second row',
};
