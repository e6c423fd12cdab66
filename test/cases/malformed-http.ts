import type { ErrorCatalogue } from '../../src/platform/errors/error-catalogue.js';

const GOOD =
  'Authorization: Bearer correct-horse-battery-staple\r\nContent-Type: application/json\r\n';
const BODY = '{"id":1,"name":"n"}';

export interface MalformedRequest {
  readonly what: string;
  readonly request: string;
  readonly error: keyof typeof ErrorCatalogue;
}

/** Input that no route can take, as the documents list it. */
export const MALFORMED_REQUESTS: readonly MalformedRequest[] = [
  { what: 'not HTTP at all', request: 'hello\r\n\r\n', error: 'MALFORMED_REQUEST' },
  {
    what: 'the start of a TLS connection',
    request: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'an unknown method',
    request: 'BREW /plants HTTP/1.1\r\nHost: a\r\n\r\n',
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a method in lower case',
    request: 'post /plants HTTP/1.1\r\nHost: a\r\n\r\n',
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'no HTTP version',
    request: 'POST /plants\r\nHost: a\r\n\r\n',
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'an unknown HTTP version',
    request: 'POST /plants HTTP/3.7\r\nHost: a\r\n\r\n',
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a space in the path',
    request: 'POST /pla nts HTTP/1.1\r\nHost: a\r\n\r\n',
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'no Host header',
    request: `POST /plants HTTP/1.1\r\n${GOOD}Content-Length: 19\r\n\r\n${BODY}`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'two Host headers',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\nHost: b\r\n${GOOD}Content-Length: 19\r\n\r\n${BODY}`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a header without a colon',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a space before the colon of a header',
    request: `POST /plants HTTP/1.1\r\nHost : a\r\n\r\n`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a control character in a header',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\nX-A: \x01\r\n\r\n`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a line feed alone in a header',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\nX-A: a\rX-B: b\r\n\r\n`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a Content-Length that is not a number',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\n${GOOD}Content-Length: ten\r\n\r\n${BODY}`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a negative Content-Length',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\n${GOOD}Content-Length: -1\r\n\r\n${BODY}`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a Content-Length beyond 64 bits',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\n${GOOD}Content-Length: 99999999999999999999\r\n\r\n${BODY}`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'two Content-Length headers that differ',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\n${GOOD}Content-Length: 19\r\nContent-Length: 18\r\n\r\n${BODY}`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'Content-Length and Transfer-Encoding together',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\n${GOOD}Content-Length: 19\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a Transfer-Encoding that does not end in chunked',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\n${GOOD}Transfer-Encoding: gzip\r\n\r\n`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a chunk size that is not hexadecimal',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\n${GOOD}Transfer-Encoding: chunked\r\n\r\nxyz\r\n${BODY}\r\n0\r\n\r\n`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a chunk longer than its size',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\n${GOOD}Transfer-Encoding: chunked\r\n\r\n3\r\n${BODY}\r\n0\r\n\r\n`,
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'chunk extensions beyond 16 KiB',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\n${GOOD}Transfer-Encoding: chunked\r\n\r\n13;${'x'.repeat(20_000)}\r\n${BODY}\r\n0\r\n\r\n`,
    error: 'BODY_TOO_LARGE',
  },
  {
    what: 'headers beyond 16 KiB',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\nX-A: ${'x'.repeat(20_000)}\r\n\r\n`,
    error: 'HEADERS_TOO_LARGE',
  },
  {
    what: 'more than 100 headers',
    request: `POST /plants HTTP/1.1\r\n${'X:\r\n'.repeat(97)}Host: a\r\n${GOOD}Content-Length: 19\r\n\r\n${BODY}`,
    error: 'HEADERS_TOO_LARGE',
  },
  {
    what: 'a path beyond 16 KiB',
    request: `POST /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    error: 'HEADERS_TOO_LARGE',
  },
  {
    what: 'an expectation other than 100-continue',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\n${GOOD}Expect: 200-ok\r\nContent-Length: 19\r\n\r\n${BODY}`,
    error: 'EXPECTATION_FAILED',
  },
  {
    what: 'an upgrade on a path that takes another method',
    request:
      'PATCH /plants HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    error: 'METHOD_NOT_ALLOWED',
  },
  {
    what: 'an upgrade without a token',
    request: `POST /plants HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 19\r\n\r\n${BODY}`,
    error: 'TOKEN_MISSING',
  },
  {
    what: 'the preface of HTTP/2',
    request: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a path that cannot be decoded',
    request: 'POST /%FF HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a percent sign without digits',
    request: 'POST /plants/% HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'an absolute URL that cannot be parsed',
    request: 'POST http://[::1/plants HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'a path that does not begin with a slash',
    request: 'POST plants HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    error: 'MALFORMED_REQUEST',
  },
  {
    what: 'an asterisk as the path',
    request: 'POST * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    error: 'NOT_FOUND',
  },
];
