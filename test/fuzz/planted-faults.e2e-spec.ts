import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { HttpAnswer } from '../support/http/answer.js';
import { HttpClient, type Transport } from '../support/http/client.js';
import type { HttpRequest } from '../support/http/request.js';
import { AUTHORIZATION, CONTENT_TYPE } from '../support/plant-requests.js';
import { TestApp } from '../support/test-app.js';
import { ApiDocument } from './api-document.js';
import { BATCH, type Failure, Fuzzer } from './fuzzer.js';
import { ACCESS_TOKENS } from './headers.js';

// A fuzzer that finds no faults proves something only if it finds faults that exist. Here, the
// answers or requests of the service are changed in one way at a time, which the fuzzer must
// detect.

const SEED = 7;
const REQUESTS = 4_000;
/** How long a failure may be made smaller, in milliseconds: only a hang takes longer. */
const SHRINK_MS = 240_000;

type Send = (request: HttpRequest) => Promise<HttpAnswer>;
/** Passes a request on to the service, or misbehaves. */
type Misbehaviour = (send: Send, request: HttpRequest) => Promise<HttpAnswer>;

let app: TestApp;

beforeEach(async () => {
  app = await TestApp.start({ ACCESS_TOKENS });
});
afterEach(() => app.close());

/** Makes a transport to the service that changes requests or answers. */
function misbehaving(misbehave: Misbehaviour): Transport {
  const client = new HttpClient(app.url);
  return {
    send: (request) => misbehave((changed) => client.send(changed), request),
    close: () => client.close(),
  };
}

async function fuzz(
  connect: () => Transport,
  seed = SEED,
  { requests = REQUESTS, shrinkTime = 0, withRows = false } = {},
): Promise<Failure | undefined> {
  const fuzzer = new Fuzzer(await ApiDocument.load(app.url), seed, connect, 4, shrinkTime);
  const failure = (await fuzzer.run(requests)) ?? (withRows ? await fuzzer.runRows() : undefined);
  fuzzer.close();
  return failure;
}

function withBody(request: HttpRequest, change: (text: string) => string): HttpRequest {
  const body = Buffer.from(change(request.body.toString('latin1')), 'latin1');
  return { ...request, body };
}

function withField(request: HttpRequest, field: readonly [string, string]): HttpRequest {
  const others = request.headers.filter(([name]) => name.toLowerCase() !== field[0].toLowerCase());
  return { ...request, headers: [...others, field] };
}

function withoutField(request: HttpRequest, field: string): HttpRequest {
  return { ...request, headers: request.headers.filter(([name]) => name !== field) };
}

/** Changes of requests. */
const REQUEST_FAULTS: Readonly<Record<string, (request: HttpRequest) => HttpRequest>> = {
  'lets anybody in': (request) => withField(request, AUTHORIZATION),
  'ignores If-Match': (request) => withoutField(request, 'If-Match'),
  'ignores If-None-Match': (request) => withoutField(request, 'If-None-Match'),
  'takes weak tags for strong ones': (request) => ({
    ...request,
    headers: request.headers.map(([name, value]) => [name, value.replaceAll('W/"', '"')] as const),
  }),
  'rounds ids in paths': (request) => ({
    ...request,
    target: request.target.replace(/(?<=^\/plants\/-?\d{15,})\d$/, '0'),
  }),
  'takes the first tag of a broken list': (request) => ({
    ...request,
    headers: request.headers.map(
      ([name, value]) => [name, value.replace(/", (other|"a)$/, '"')] as const,
    ),
  }),
  'removes nothing': (request) =>
    request.method === 'DELETE' ? { ...request, target: '/plants/77' } : request,
  'takes a plus before an id': (request) => ({
    ...request,
    target: request.target.replace('/plants/+', '/plants/'),
  }),
  'ignores the tag of a page': (request) => ({
    ...request,
    target: request.target.replace(/[?&]tag=[^&]*$/, ''),
  }),
  'ignores unknown parameters': (request) => ({
    ...request,
    target: request.target.replace(/\?(?:offset|id|Limit)=1$/, ''),
  }),
  'takes the first of two': (request) => ({
    ...request,
    target: request.target.replace(/([?&])(\w+=[^&]*)&\2(?=&|$)/, '$1$2'),
  }),
  'takes every media type': (request) => withField(request, CONTENT_TYPE),
  'takes every path': (request) => ({ ...request, target: '/plants' }),
  'takes paths in any case': (request) => ({ ...request, target: request.target.toLowerCase() }),
  'takes a trailing slash': (request) => ({
    ...request,
    target: request.target.replace(/^\/plants\//, '/plants'),
  }),
  'takes every method': (request) => ({ ...request, method: 'POST' }),
  'takes ids in a string': (request) =>
    withBody(request, (text) => text.replace(/"id"(\s*):(\s*)"(-?\d+)"/, '"id"$1:$2$3')),
  'takes true for 1': (request) =>
    withBody(request, (text) => text.replace(/"id"(\s*):(\s*)true/, '"id":1')),
  'drops a fraction': (request) =>
    withBody(request, (text) => text.replace(/("id":-?\d+)\.\d*[1-9]\d*(?=[,}])/, '$1')),
  'takes null for no tag': (request) =>
    withBody(request, (text) => text.replace(/,\s*"tag"\s*:\s*null/, '')),
  'takes numbers for names': (request) =>
    withBody(request, (text) => text.replace(/"name":(-?\d+)(?=[,}])/, '"name":"$1"')),
  'reads numbers as doubles': (request) =>
    withBody(request, (text) => {
      try {
        return JSON.stringify(JSON.parse(text));
      } catch {
        return text;
      }
    }),
  'mends bytes that are not UTF-8': (request) => ({
    ...request,
    body: Buffer.from(request.body.toString()),
  }),
  'strips a byte order mark': (request) =>
    withBody(request, (text) => text.replace(/^\xef\xbb\xbf/, '')),
  'forgives a trailing comma': (request) =>
    withBody(request, (text) => text.replace(/,(\s*\}\s*)$/, '$1')),
  'ignores what follows the body': (request) =>
    withBody(request, (text) => text.replace(/\}[^}"\]]*$/, '}')),
  'has no limit': (request) => withBody(request, (text) => text.replace(/ {1000,}$/, '')),
  'mends unpaired surrogates': (request) =>
    withBody(request, (text) =>
      text.replace(/"name":"[^"]*\\ud[89a-f][^"]*"/i, (name) =>
        name.replaceAll(/\\ud[89a-f]../gi, '\\ufffd'),
      ),
    ),
  'strips U+0000': (request) =>
    withBody(request, (text) =>
      text.replace(/"name":"[^"]*\\u0000[^"]*"/, (name) => name.replaceAll('\\u0000', '')),
    ),
  'nests as deep as it likes': (request) =>
    withBody(request, (text) => text.replace(/\[{64,}\]{64,}/, '[]')),
};

describe('a service that', () => {
  it.each(Object.entries(REQUEST_FAULTS))('%s is detected', async (_, change) => {
    const connect = (): Transport => misbehaving((send, request) => send(change(request)));
    const failure = await fuzz(connect, SEED, { requests: 600, withRows: true });
    expect(failure?.faults).toEqual(expect.any(Array));
  });
});

/** Matches a plant with its id, or a page. */
const STORED = /^(?:\[|\{"id":)/;

function json(answer: HttpAnswer, change: (body: Record<string, unknown>) => unknown): HttpAnswer {
  if (answer.body.length === 0 || answer.headers['content-type']?.includes('json') !== true) {
    return answer;
  }
  // JSON.parse would round ids too: those answers are changed as text.
  if (STORED.test(answer.body)) return answer;
  const body = change(JSON.parse(answer.body) as Record<string, unknown>);
  return { ...answer, body: JSON.stringify(body) };
}

function name(answer: HttpAnswer, change: (name: string) => string): HttpAnswer {
  return json(answer, (body) =>
    typeof body.name === 'string' ? { ...body, name: change(body.name) } : body,
  );
}

function withHeader(answer: HttpAnswer, header: string, value?: string): HttpAnswer {
  const others = Object.entries(answer.headers).filter(([name]) => name !== header);
  const changed = value === undefined ? others : [...others, [header, value]];
  return { ...answer, headers: Object.fromEntries(changed) as Record<string, string> };
}

function statusInstead(right: number, other: number): (answer: HttpAnswer) => HttpAnswer {
  return (answer) => (answer.status === right ? { ...answer, status: other } : answer);
}

function codeInstead(right: number, other: number): (answer: HttpAnswer) => HttpAnswer {
  return (answer) =>
    json(answer, (body) => (body.error === right ? { ...body, error: other } : body));
}

function message(text: string): (answer: HttpAnswer) => HttpAnswer {
  return (answer) => json(answer, (body) => ('error' in body ? { ...body, message: text } : body));
}

/** Changes the text of a plant with its id, or of a page. */
function stored(change: (text: string) => string): (answer: HttpAnswer) => HttpAnswer {
  return (answer) => {
    const text = answer.body;
    const isStored = answer.status === 200 && STORED.test(text);
    return isStored ? { ...answer, body: change(text) } : answer;
  };
}

let answers = 0;

/** Changes of answers, with the name of the check that detects each. */
const ANSWER_FAULTS: readonly (readonly [string, string, (answer: HttpAnswer) => HttpAnswer])[] = [
  ['not_a_server_error', 'fails now and then', (a) => (++answers % 99 ? a : { ...a, status: 500 })],
  ['status_code_conformance', '422 for 400', statusInstead(400, 422)],
  ['status_code_conformance', '201 for 200', statusInstead(200, 201)],
  ['status_code_conformance', '402 for 401', statusInstead(401, 402)],
  ['status_code_conformance', '410 for 409', statusInstead(409, 410)],
  ['negative_data_rejection', '200 for 400', statusInstead(400, 200)],
  ['positive_data_acceptance', '400 for 200', statusInstead(200, 400)],
  ['ignored_auth', '200 for 401', statusInstead(401, 200)],
  ['unsupported_method', '404 for 405', statusInstead(405, 404)],
  ['unsupported_method', 'no Allow', (a) => withHeader(a, 'allow')],
  [
    'allow_header_conformance',
    'a wrong Allow',
    (a) => (a.headers.allow !== undefined ? withHeader(a, 'allow', 'GET, HEAD, OPTIONS, POST') : a),
  ],
  ['content_type_conformance', 'no Content-Type', (a) => withHeader(a, 'content-type')],
  ['content_type_conformance', 'HTML', (a) => withHeader(a, 'content-type', 'text/html')],
  [
    'response_schema_conformance',
    'text for a code',
    (a) => json(a, (b) => ('error' in b ? { ...b, error: 'Bad Request' } : b)),
  ],
  [
    'response_schema_conformance',
    'a code beyond int32',
    (a) => json(a, (b) => ('error' in b ? { ...b, error: 2 ** 31 } : b)),
  ],
  [
    'response_schema_conformance',
    'no message',
    (a) => json(a, (b) => ('error' in b ? { error: b.error } : b)),
  ],
  [
    'response_schema_conformance',
    'null for no tag',
    (a) => json(a, (b) => ('error' in b ? b : { tag: null, ...b })),
  ],
  ['right_body', 'the id too', (a) => json(a, (b) => ('error' in b ? b : { id: 1, ...b }))],
  ['right_body', 'no tag', (a) => json(a, (b) => ({ ...b, tag: undefined }))],
  ['right_body', 'a normalized name', (a) => name(a, (text) => text.normalize('NFC'))],
  ['right_body', 'a trimmed name', (a) => name(a, (text) => text.trim())],
  [
    'right_body',
    'a name without a byte order mark',
    (a) => name(a, (text) => text.replace(/^\ufeff/, '')),
  ],
  [
    'right_body',
    'a name of the basic plane',
    (a) => name(a, (text) => text.replaceAll(/[^\0-\uffff]/gu, '?')),
  ],
  ['right_body', 'a name cut to 255 characters', (a) => name(a, (text) => text.slice(0, 255))],
  [
    'right_error',
    'more than the Error shape',
    (a) => json(a, (b) => ('error' in b ? { ...b, statusCode: 400 } : b)),
  ],
  ['right_error', '40001 for 40002', codeInstead(40002, 40001)],
  ['right_error', '40002 for 40001', codeInstead(40001, 40002)],
  ['right_error', '40900 for 40901', codeInstead(40901, 40900)],
  ['right_error', '40901 for 40900', codeInstead(40900, 40901)],
  ['right_error', '40101 for 40100', codeInstead(40100, 40101)],
  ['right_error', '40400 for 40000', codeInstead(40000, 40400)],
  ['right_error', 'no fault named', message('Bad Request')],
  ['right_headers', 'no challenge', (a) => withHeader(a, 'www-authenticate')],
  [
    'right_headers',
    'a challenge too many',
    (a) => withHeader(a, 'www-authenticate', 'Bearer realm="plant-store"'),
  ],
  ['right_stored', 'a plant of another id', stored((text) => text.replace(/1(?=\d*,"name")/, '2'))],
  ['right_stored', 'a rounded id', stored((text) => text.replace(/(?<="id":-?\d{15,})\d/g, '0'))],
  [
    'right_stored',
    'a page without its last plant',
    stored((text) => text.replace(/,\{[^{}]*\}\]$/, ']')),
  ],
  [
    'right_stored',
    'a page in another order',
    stored((text) => text.replace(/^\[(\{[^{}]*\}),(\{[^{}]*\})/, '[$2,$1')),
  ],
  ['right_etag', 'no ETag', (a) => withHeader(a, 'etag')],
  [
    'right_etag',
    'a weak ETag',
    (a) =>
      a.headers.etag !== undefined && a.status === 200
        ? withHeader(a, 'etag', `W/${a.headers.etag}`)
        : a,
  ],
  ['right_link', 'no Link', (a) => withHeader(a, 'link')],
  [
    'right_link',
    'a Link to the same page',
    (a) => withHeader(a, 'link', a.headers.link?.replace(/after=-?\d+/, 'after=0')),
  ],
  ['right_status', '200 for 304', statusInstead(304, 200)],
  ['right_status', '204 for 404', statusInstead(404, 204)],
  ['right_error', '40401 for 41200', codeInstead(41200, 40401)],
  ['right_error', '40400 for 40401', codeInstead(40401, 40400)],
  ['right_error', '40002 for 40003', codeInstead(40003, 40002)],
  ['nothing_leaks', 'a stack', message('boom at Object.<anonymous> (file:///srv/main.js:1:2)')],
  ['nothing_leaks', 'SQL', message('near "x": INSERT INTO plants')],
  ['nothing_leaks', 'the token', message(`id name tag ${AUTHORIZATION[1]}`)],
  ['nothing_leaks', 'the framework', (a) => withHeader(a, 'x-powered-by', 'Express')],
];

describe('an answer that is wrong', () => {
  it.each(ANSWER_FAULTS)('is found by %s: %s', async (check, _, change) => {
    const misbehave: Misbehaviour = async (send, request) => change(await send(request));
    // The schema may be undecided about the first body that is found, but not about a smaller one.
    const shrinkTime = check === 'positive_data_acceptance' ? SHRINK_MS : 0;
    const failure = await fuzz(() => misbehaving(misbehave), SEED, { shrinkTime });
    expect(failure?.faults.join('\n')).toContain(check);
  });
});

describe('a service whose store differs from its answers', () => {
  const PLAIN_NAME = /"name":"([\w ]{3,})"/;
  const CREATE = { method: 'POST', target: '/plants', headers: [AUTHORIZATION, CONTENT_TYPE] };

  /** Describes the fault of an answer about the store, or of the store at the end. */
  async function audit(misbehave: Misbehaviour): Promise<string> {
    const failure = await fuzz(() => misbehaving(misbehave), SEED, { requests: 2_000 });
    return failure?.faults[0] ?? '';
  }

  it('and that stores a part of a refused plant is detected', async () => {
    let isKept = false;
    const fault = await audit(async (send, request) => {
      const answer = await send(request);
      if (answer.status === 415 && !isKept) {
        isKept = true;
        await send({ ...CREATE, body: Buffer.from('{"id":4611686018427387999,"name":"kept"}') });
      }
      return answer;
    });
    expect(fault).toMatch(/^right_store.*4611686018427387999/);
  });

  it('and that stores another name than it answers is detected', async () => {
    const fault = await audit(async (send, request) => {
      const body = request.body.toString();
      if (request.method !== 'POST' || !PLAIN_NAME.test(body)) return await send(request);
      const answer = await send(
        withBody(request, (text) => text.replace(PLAIN_NAME, '"name":"$1x"')),
      );
      return name(answer, (text) => text.replace(/x$/, ''));
    });
    expect(fault).toMatch(/^right_store/);
  });

  it('and that loses an acknowledged plant is detected', async () => {
    let lost = 0;
    const fault = await audit(async (send, request) => {
      const answer = await send(request);
      const [, id] = /"id":(-?\d+)[,}]/.exec(request.body.toString()) ?? [];
      if (request.method === 'POST' && answer.status === 200 && id !== undefined && lost++ === 0) {
        const headers = [AUTHORIZATION];
        await send({ method: 'DELETE', target: `/plants/${id}`, headers, body: Buffer.alloc(0) });
      }
      return answer;
    });
    expect(fault).toMatch(/^right_st/);
  });
});

const YES =
  'Connection: close\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"name":"a"}';

describe('a server that', () => {
  it.each([
    ['says yes to everything', `HTTP/1.1 200 OK\r\n${YES}`, 'right_'],
    ['says more than it announced', `HTTP/1.1 200 OK\r\n${YES}HTTP/1.1 200 OK`, 'valid_http'],
    ['says less than it announced', `HTTP/1.1 200 OK\r\n${YES.slice(0, -1)}`, 'valid_http'],
    ['has a header that is none', `HTTP/1.1 200 OK\r\nno header\r\n${YES}`, 'valid_http'],
    ['does not speak HTTP', 'hello\r\n\r\n', 'valid_http'],
    ['says nothing', '', 'valid_http'],
  ])('%s is detected', async (_, text, check) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(text));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const failure = await fuzz(() => new HttpClient(new URL(`http://127.0.0.1:${port}`)));
    server.close();
    expect(failure?.faults.join()).toContain(check);
  });
});

describe('a failure', () => {
  const forgetful: Misbehaviour = async (send, request) =>
    name(await send(request), (text) => text.replaceAll(/[^\0-\uffff]/gu, '?'));

  it('is repeated with its seed', async () => {
    const first = await fuzz(() => misbehaving(forgetful), 99);
    expect(
      await fuzz(() => misbehaving(forgetful), first?.seed, { requests: BATCH }),
    ).toBeDefined();
  });

  it('is reduced', async () => {
    const failure = await fuzz(() => misbehaving(forgetful), SEED, { shrinkTime: SHRINK_MS });
    const { name: text } = JSON.parse(String(failure?.request?.body)) as { name: string };
    // One character to a reader, which may be several of Unicode's.
    expect([...new Intl.Segmenter().segment(text)]).toHaveLength(1);
  });
});
