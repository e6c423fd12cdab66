import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LARGE } from '../../support/plant-requests.js';
import { TokenIssuer } from '../../support/token-issuer.js';

// A separate process, which takes at most half a core. Its arguments are the port to attack, two
// tokens, the id of a plant, and the names of the attacks; without names it runs all.

/** The share of a core that the attack may take. */
const SHARE = 0.5;

const [port = '', writer = '', reader = '', plant = '', ...names] = process.argv.slice(2);

interface Attack {
  /** How many connections it has at a time. One that is closed is opened again. */
  readonly connections: number;
  /** Makes what each connection sends first. */
  readonly request: (index: number) => string | Promise<string>;
  /** What it then sends again and again, as fast as it is read. */
  readonly endless?: string;
  /** Whether it reads no answer. */
  readonly isUnread?: boolean;
  /** Opens all connections at once, and closes them after this time, in milliseconds. */
  readonly waveMs?: number;
}

const JSON_BODY = 'Content-Type: application/json';
const LINES = 'Content-Type: application/x-ndjson';
const CHUNKED = 'Transfer-Encoding: chunked';
const ENDLESS_LENGTH = 'Content-Length: 1000000000000';

function head(line: string, token: string, ...fields: readonly string[]): string {
  const authorization = token === '' ? [] : [`Authorization: Bearer ${token}`];
  return `${[`${line} HTTP/1.1`, 'Host: a', ...authorization, ...fields].join('\r\n')}\r\n\r\n`;
}

function send(line: string, token: string, body: string, ...fields: readonly string[]): string {
  return head(line, token, ...fields, `Content-Length: ${body.length}`) + body;
}

const SMALL_CHUNKS = `10\r\n${' '.repeat(16)}\r\n`.repeat(3_000);
const PUT = `PUT /plants/${plant}`;
/** Is read to its end before it is refused. */
const REFUSED_BODY = `{${'"id":1,'.repeat(14_000)}"name":"n"}`;
const REFUSED_LINES = send('POST /plants/import', writer, 'x\n'.repeat(100_000), LINES);
const FLOODS = ['GET /health/live', 'GET /nothing', 'GET /plants/1', 'HEAD /openapi.json'];
const issuer = await TokenIssuer.start();

const ATTACKS: Readonly<Record<string, Attack>> = {
  'unread pages': {
    connections: 300,
    request: () => head('GET /plants?limit=1000', reader),
    isUnread: true,
  },
  'unread files': { connections: 2_000, request: () => LARGE, isUnread: true },
  'unfinished bodies': {
    connections: 600,
    request: () => head(PUT, writer, JSON_BODY, 'Content-Length: 102400') + ' '.repeat(102_000),
  },
  'unfinished bodies in chunks of a byte': {
    connections: 100,
    request: () => head(PUT, writer, JSON_BODY, CHUNKED) + '1\r\n \r\n'.repeat(90_000),
  },
  'creates in small chunks': {
    connections: 16,
    request: () => head('POST /plants', writer, JSON_BODY, CHUNKED),
    endless: SMALL_CHUNKS,
  },
  'imports in small chunks': {
    connections: 16,
    request: () => head('POST /plants/import', writer, LINES, CHUNKED),
    endless: SMALL_CHUNKS,
  },
  'small chunks that nobody reads': {
    connections: 16,
    request: () => head('GET /health/live', '', CHUNKED),
    endless: SMALL_CHUNKS,
  },
  'small chunks without a token': {
    connections: 16,
    request: () => head('POST /plants', '', JSON_BODY, CHUNKED),
    endless: SMALL_CHUNKS,
  },
  'bodies that nobody reads': {
    connections: 64,
    request: () => head('GET /health/live', '', ENDLESS_LENGTH),
    endless: ' '.repeat(64 * 1024),
  },
  'refused bodies': {
    connections: 64,
    request: () => send('POST /plants', writer, REFUSED_BODY, JSON_BODY, 'Connection: close'),
  },
  scrapes: { connections: 64, request: () => head('GET /metrics', reader, 'Connection: close') },
  'refused lines': { connections: 16, request: () => REFUSED_LINES },
  'refused lines of clients that leave': {
    connections: 16,
    request: () => REFUSED_LINES,
    waveMs: 4_000,
  },
  'replacements of one plant': {
    connections: 500,
    request: (index) =>
      send(
        PUT,
        writer,
        `{"name":"storm ${index}"}`,
        'If-Match: *',
        'If-None-Match: "x"',
        JSON_BODY,
      ),
    waveMs: 2_000,
  },
  'reads of one plant': {
    connections: 1_000,
    request: () => head(`GET /plants/${plant}`, reader),
    waveMs: 2_000,
  },
  'requests without a token': {
    connections: 20,
    request: (index) => head(FLOODS[index % FLOODS.length] ?? '', '').repeat(500),
  },
  'forged tokens': {
    connections: 8,
    request: async (index) => {
      const token = await issuer.token({ n: index }, { kid: `unknown ${index}` });
      return head(`GET /plants/${plant}`, token, 'Connection: close');
    },
  },
};

let usage = process.cpuUsage();
/** The time of `performance.now()` at which the used processor time equals the share of a core. */
let paidUntil = 0;

/**
 * Waits until the used processor time is within the share of a core. Unused time is not carried
 * over.
 */
async function throttle(): Promise<void> {
  const { user, system } = process.cpuUsage(usage);
  usage = process.cpuUsage();
  paidUntil = Math.max(paidUntil, performance.now()) + (user + system) / 1_000 / SHARE;
  await sleep(Math.max(1, paidUntil - performance.now()));
}

function open(): Socket {
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  return socket.on('error', () => undefined);
}

let requests = 0;

async function use(socket: Socket, attack: Attack): Promise<void> {
  const { request, endless, isUnread = false } = attack;
  if (isUnread) socket.pause();
  else socket.resume();
  socket.write(await request(requests++));
  while (endless !== undefined && socket.writable) {
    await new Promise((resolve) => socket.write(endless, resolve));
    await throttle();
  }
}

async function run(attack: Attack): Promise<never> {
  const sockets = new Set<Socket>();
  const start = (): void => {
    const socket = open();
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    void use(socket, attack);
  };
  for (;;) {
    while (sockets.size < attack.connections) {
      start();
      if (attack.waveMs === undefined) await throttle();
    }
    await sleep(attack.waveMs ?? 10);
    if (attack.waveMs !== undefined) for (const socket of sockets) socket.destroy();
    await throttle();
  }
}

const chosen = Object.entries(ATTACKS).filter(
  ([name]) => names.length === 0 || names.includes(name),
);
await Promise.all(chosen.map(([, attack]) => run(attack)));
