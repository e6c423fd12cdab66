import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { ApiDocument } from './api-document.js';
import { TestApp } from '../support/test-app.js';
import { ACCESS_TOKENS } from './headers.js';
import { type Failure, BATCH, Fuzzer } from './fuzzer.js';
import type { Answer } from './http-answer.js';
import { HttpClient, type Transport } from './http-client.js';
import type { HttpRequest } from './http-request.js';
import { AUTHORIZATION, CONTENT_TYPE } from './requests.js';
import { auditStore } from './store-audit.js';

// A fuzzer that finds nothing proves something only if it finds what is there. Here the service is
// made to misbehave in one way at a time, on the wire, and the fuzzer has to notice.

const SEED = 7;
const REQUESTS = 4_000;

type Send = (request: HttpRequest) => Promise<Answer>;
/** Passes a request on to the service, or does something wrong. */
type Misbehaviour = (send: Send, request: HttpRequest) => Promise<Answer>;

let app: TestApp;

beforeEach(async () => {
  app = await TestApp.start({ ACCESS_TOKENS });
});
afterEach(() => app.close());

/** The service, but for the way its requests or answers are changed. */
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
  { requests = REQUESTS, shrinkTime = 0 } = {},
): Promise<Failure | undefined> {
  const fuzzer = new Fuzzer(await ApiDocument.load(app.url), seed, connect, 4, shrinkTime);
  const failure = await fuzzer.run(requests);
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

/** Wrong in what it takes. */
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
    target: request.target.replace('?limit=1&limit=1', '?limit=1'),
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

describe('a service that takes what it must not', () => {
  it.each(Object.entries(REQUEST_FAULTS))('%s', async (_, change) => {
    const failure = await fuzz(() => misbehaving((send, request) => send(change(request))));
    expect(failure?.faults).toEqual(expect.any(Array));
  });
});

/** What is a plant with its id, or a page. */
const STORED = /^(?:\[|\{"id":)/;

function json(answer: Answer, change: (body: Record<string, unknown>) => unknown): Answer {
  if (answer.body.length === 0 || answer.headers.get('content-type')?.includes('json') !== true) {
    return answer;
  }
  // JSON.parse would round ids too: those answers are changed as text.
  if (STORED.test(answer.body.toString())) return answer;
  const body = change(JSON.parse(answer.body.toString()) as Record<string, unknown>);
  return { ...answer, body: Buffer.from(JSON.stringify(body)) };
}

function name(answer: Answer, change: (name: string) => string): Answer {
  return json(answer, (body) =>
    typeof body.name === 'string' ? { ...body, name: change(body.name) } : body,
  );
}

function withHeader(answer: Answer, header: string, value?: string): Answer {
  const headers = new Map(answer.headers);
  if (value === undefined) headers.delete(header);
  else headers.set(header, value);
  return { ...answer, headers };
}

function statusInstead(right: number, other: number): (answer: Answer) => Answer {
  return (answer) => (answer.status === right ? { ...answer, status: other } : answer);
}

function codeInstead(right: number, other: number): (answer: Answer) => Answer {
  return (answer) =>
    json(answer, (body) => (body.error === right ? { ...body, error: other } : body));
}

function message(text: string): (answer: Answer) => Answer {
  return (answer) => json(answer, (body) => ('error' in body ? { ...body, message: text } : body));
}

/** Changes the text of a plant with its id, or of a page. */
function stored(change: (text: string) => string): (answer: Answer) => Answer {
  return (answer) => {
    const text = answer.body.toString();
    const isStored = answer.status === 200 && STORED.test(text);
    return isStored ? { ...answer, body: Buffer.from(change(text)) } : answer;
  };
}

let answers = 0;

/** Wrong in what it answers; the name is that of the check which finds it. */
const ANSWER_FAULTS: readonly (readonly [string, string, (answer: Answer) => Answer])[] = [
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
    (a) => (a.headers.has('allow') ? withHeader(a, 'allow', 'GET, HEAD, OPTIONS, POST') : a),
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
  ['right_plant', 'the id too', (a) => json(a, (b) => ('error' in b ? b : { id: 1, ...b }))],
  ['right_plant', 'no tag', (a) => json(a, (b) => ({ ...b, tag: undefined }))],
  ['right_plant', 'a normalized name', (a) => name(a, (text) => text.normalize('NFC'))],
  ['right_plant', 'a trimmed name', (a) => name(a, (text) => text.trim())],
  [
    'right_plant',
    'a name without a byte order mark',
    (a) => name(a, (text) => text.replace(/^\ufeff/, '')),
  ],
  [
    'right_plant',
    'a name of the basic plane',
    (a) => name(a, (text) => text.replaceAll(/[^\0-\uffff]/gu, '?')),
  ],
  ['right_plant', 'a name cut to 255 characters', (a) => name(a, (text) => text.slice(0, 255))],
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
  [
    'right_stored_plants',
    'a plant of another id',
    stored((text) => text.replace(/1(?=\d*,"name")/, '2')),
  ],
  [
    'right_stored_plants',
    'a rounded id',
    stored((text) => text.replace(/(?<="id":-?\d{15,})\d/g, '0')),
  ],
  [
    'right_stored_plants',
    'a page without its last plant',
    stored((text) => text.replace(/,\{[^{}]*\}\]$/, ']')),
  ],
  [
    'right_stored_plants',
    'a page in another order',
    stored((text) => text.replace(/^\[(\{[^{}]*\}),(\{[^{}]*\})/, '[$2,$1')),
  ],
  ['right_etag', 'no ETag', (a) => withHeader(a, 'etag')],
  [
    'right_etag',
    'a weak ETag',
    (a) =>
      a.headers.has('etag') && a.status === 200
        ? withHeader(a, 'etag', `W/${a.headers.get('etag') ?? ''}`)
        : a,
  ],
  ['right_link', 'no Link', (a) => withHeader(a, 'link')],
  [
    'right_link',
    'a Link to the same page',
    (a) => withHeader(a, 'link', a.headers.get('link')?.replace(/after=-?\d+/, 'after=0')),
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

describe('a service that answers wrongly', () => {
  it.each(ANSWER_FAULTS)('%s: %s', async (check, _, change) => {
    const misbehave: Misbehaviour = async (send, request) => change(await send(request));
    // Of the first body that is found the schema may say nothing, of a smaller one it says more.
    const shrinkTime = check === 'positive_data_acceptance' ? 2_000 : 0;
    const failure = await fuzz(() => misbehaving(misbehave), SEED, { shrinkTime });
    expect(failure?.faults.join('\n')).toContain(check);
  });
});

describe('a service whose store is not what it says', () => {
  async function audit(misbehave: Misbehaviour): Promise<string[]> {
    const connect = (): Transport => misbehaving(misbehave);
    const fuzzer = new Fuzzer(await ApiDocument.load(app.url), SEED, connect, 4);
    await fuzzer.run(500);
    fuzzer.close();
    return await auditStore(app.storeUrl, fuzzer.model);
  }

  const NAME = '"name":"after"';

  it('keeps a part of what it refused', async () => {
    let isKept = false;
    const faults = await audit(async (send, request) => {
      const answer = await send(request);
      if (answer.status === 415 && !isKept) {
        isKept = true;
        const body = Buffer.from('{"id":4611686018427387999,"name":"kept"}');
        await send({ ...request, headers: [AUTHORIZATION, CONTENT_TYPE], body });
      }
      return answer;
    });
    expect(faults.join()).toContain('which nobody created');
  });

  it('stores another name than it answers', async () => {
    const faults = await audit(async (send, request) => {
      const answer = await send(withBody(request, (text) => text.replace(NAME, '"name":"aft"')));
      return name(answer, (text) => (text === 'aft' ? 'after' : text));
    });
    expect(faults.join()).toContain('which nobody created');
  });

  it('loses a plant that it said it stored', async () => {
    const faults = await audit(async (send, request) => {
      if (!request.body.includes(NAME)) return await send(request);
      const headers = new Map([['content-type', 'application/json']]);
      return { status: 200, headers, body: Buffer.from(`{${NAME}}`), closes: false };
    });
    expect(faults.join()).toMatch(/the store holds \d+ plants, not \d+/);
  });
});

const YES =
  'Connection: close\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"name":"a"}';

describe('a server of another kind', () => {
  it.each([
    ['says yes to everything', `HTTP/1.1 200 OK\r\n${YES}`, 'right_'],
    ['says more than it announced', `HTTP/1.1 200 OK\r\n${YES}HTTP/1.1 200 OK`, 'valid_http'],
    ['says less than it announced', `HTTP/1.1 200 OK\r\n${YES.slice(0, -1)}`, 'valid_http'],
    ['has a header that is none', `HTTP/1.1 200 OK\r\nno header\r\n${YES}`, 'valid_http'],
    ['does not speak HTTP', 'hello\r\n\r\n', 'valid_http'],
    ['says nothing', '', 'valid_http'],
  ])('%s', async (_, text, check) => {
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

  it('comes again with its seed', async () => {
    const first = await fuzz(() => misbehaving(forgetful), 99);
    expect(
      await fuzz(() => misbehaving(forgetful), first?.seed, { requests: BATCH }),
    ).toBeDefined();
  });

  it('is made small', async () => {
    const failure = await fuzz(() => misbehaving(forgetful), SEED, { shrinkTime: 2_000 });
    const { name: text } = JSON.parse(String(failure?.request.body)) as { name: string };
    // One character to a reader, which may be several of Unicode's.
    expect([...new Intl.Segmenter().segment(text)]).toHaveLength(1);
  });
});
