/** One kind of failure a client can be told about. */
export interface ErrorEntry {
  /** The wire code, an int32: the HTTP status times 100 plus a number. */
  readonly error: number;
  /** What the client is told when nothing more specific is known. */
  readonly message: string;
  /** The condition, as the documents and the OpenAPI description state it. */
  readonly when: string;
  /** Headers that every answer of this kind carries. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Every failure the service answers with, and the only source of error codes. */
export const ErrorCatalogue = {
  MALFORMED_REQUEST: {
    error: 40000,
    message: 'The request is not well-formed HTTP',
    when: 'the request is not well-formed HTTP, or its path cannot be decoded',
  },
  UNREADABLE_BODY: {
    error: 40001,
    message: 'The body is not JSON',
    when: 'the body is empty, not UTF-8, not JSON, or nested too deep',
  },
  INVALID_BODY: {
    error: 40002,
    message: 'The body is not valid',
    when: 'the body is JSON but not what the operation takes; the message names every fault',
  },
  TOKEN_MISSING: {
    error: 40100,
    message: 'A bearer token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>"',
    when: 'no bearer token',
    // RFC 6750 section 3: no error code when the request carries no credentials.
    headers: { 'WWW-Authenticate': 'Bearer realm="plant-store"' },
  },
  TOKEN_REFUSED: {
    error: 40101,
    message: 'The bearer token is not accepted',
    when: 'the bearer token is not accepted',
    headers: {
      'WWW-Authenticate': 'Bearer realm="plant-store", error="invalid_token"',
    },
  },
  INSUFFICIENT_SCOPE: {
    error: 40300,
    message: 'The access token does not have the scope that this service asks for',
    when: 'the access token is good, but lacks a scope of `AUTH_SCOPE`',
    headers: {
      'WWW-Authenticate': 'Bearer realm="plant-store", error="insufficient_scope"',
    },
  },
  NOT_FOUND: {
    error: 40400,
    message: 'There is nothing at this path',
    when: 'no such path',
  },
  METHOD_NOT_ALLOWED: {
    error: 40500,
    message: 'This path does not take this method',
    when: 'the path exists, the method does not (`Allow` is set)',
  },
  REQUEST_TIMEOUT: {
    error: 40800,
    message: 'The request did not arrive in time',
    when: 'the request did not arrive in time',
  },
  ID_IN_USE: {
    error: 40900,
    message: 'The id is in use by a different plant',
    when: 'the id is in use by a different plant',
  },
  ALREADY_EXISTS: {
    error: 40901,
    message: 'This very plant, with the same id, name and tag, already exists',
    when: 'this very plant (same id, name and tag) already exists: a client that retried may take it as success',
  },
  BODY_TOO_LARGE: {
    error: 41300,
    message: 'The body is larger than 102400 bytes',
    when: 'the body is larger than 102400 bytes',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    error: 41500,
    message: 'The body must be application/json in UTF-8, without a Content-Encoding',
    when: 'the body is not `application/json` in UTF-8 without a content encoding',
  },
  EXPECTATION_FAILED: {
    error: 41700,
    message: 'The only expectation that can be met is 100-continue',
    when: 'the request has an `Expect` other than `100-continue`',
  },
  TOO_MANY_REQUESTS: {
    error: 42900,
    message: 'Too many requests; retry after the time that Retry-After gives',
    when: 'too many requests of this token or address, or too many of this address without a good token (`Retry-After` is set)',
    headers: { 'Retry-After': '1' },
  },
  HEADERS_TOO_LARGE: {
    error: 43100,
    message: 'The request headers are too large',
    when: 'the headers are too large',
  },
  INTERNAL: {
    error: 50000,
    message: 'Something went wrong on the server',
    when: 'a bug: fixed text, the details are in the log only',
  },
  UNAVAILABLE: {
    error: 50300,
    message: 'The store is unavailable or overloaded; retry in a moment',
    when: 'the store is unavailable, full or overloaded, or the identity provider is unavailable that a token needs (`Retry-After` is set); a retry is safe: it gives 200, or 40901 if this create went through after all',
    headers: { 'Retry-After': '1' },
  },
} as const satisfies Record<string, ErrorEntry>;

/** The HTTP status an entry is answered with. */
export function statusOf(entry: ErrorEntry): number {
  return Math.floor(entry.error / 100);
}
