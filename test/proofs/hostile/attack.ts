import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { TokenIssuer } from '../../support/token-issuer.js';

// A separate process, which takes at most half a core. Its arguments are the port of the program, two
// tokens and the id of a plant.

/** The share of a core that the attack may take. */
const SHARE = 0.5;
const PARTIAL_BODIES = 700;
const SLOW_READERS = 300;
const STORM = 500;
const BURST = 1_000;
const FLOODS_OF_A_KIND = 5;

const [port = '', writer = '', reader = '', plant = ''] = process.argv.slice(2);

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

function head(method: string, target: string, token: string, ...fields: string[]): string {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${token}`];
  return `${[...lines, ...fields].join('\r\n')}\r\n\r\n`;
}

const CHUNKED = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];

/** Keeps this many connections open, and reopens each that the server closes. */
async function keepOpen(count: number, start: (socket: Socket) => void): Promise<never> {
  const sockets = new Set<Socket>();
  for (;;) {
    while (sockets.size < count) {
      const socket = open();
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      start(socket);
      await throttle();
    }
    await throttle();
    await sleep(10);
  }
}

const slowReaders = (): Promise<never> =>
  keepOpen(SLOW_READERS, (socket) => {
    socket.pause();
    socket.write(head('GET', '/plants?limit=1000', reader));
  });

const partialBodies = (): Promise<never> => {
  const chunks = '1\r\n \r\n'.repeat(90_000);
  let opened = 0;
  return keepOpen(PARTIAL_BODIES, (socket) => {
    socket.resume();
    const target = `/plants/${plant}`;
    // Some are one-byte chunks, and the others nearly the longest body.
    if (opened++ % 8 === 0) socket.write(head('PUT', target, writer, ...CHUNKED) + chunks);
    else {
      const fields = ['Content-Type: application/json', 'Content-Length: 102400'];
      socket.write(head('PUT', target, writer, ...fields) + ' '.repeat(102_000));
    }
  });
};

/** Sends many requests at once, whose clients disconnect after some time, answered or not. */
async function repeatAtOnce(count: number, request: (index: number) => string): Promise<never> {
  for (;;) {
    const sockets = Array.from({ length: count }, () => open().resume());
    for (const [index, socket] of sockets.entries()) socket.write(request(index));
    await sleep(2_000);
    for (const socket of sockets) socket.destroy();
    await throttle();
  }
}

const storms = (): Promise<never> =>
  repeatAtOnce(STORM, (index) => {
    const body = JSON.stringify({ name: `storm ${index}` });
    const fields = ['If-Match: *', 'If-None-Match: "none"', 'Content-Type: application/json'];
    const length = `Content-Length: ${body.length}`;
    return head('PUT', `/plants/${plant}`, writer, ...fields, length) + body;
  });

const bursts = (): Promise<never> =>
  repeatAtOnce(BURST, () => head('GET', `/plants/${plant}`, reader));

const PUBLIC_REQUESTS = [
  'GET /health/live',
  'GET /nothing',
  'GET /plants/1',
  'HEAD /openapi.json',
].map((line) => `${line} HTTP/1.1\r\nHost: a\r\n\r\n`);

/** Sends requests without a token, which cost little, as fast as the program reads them. */
const floods = (): Promise<never[]> =>
  Promise.all(
    PUBLIC_REQUESTS.map((request) =>
      keepOpen(FLOODS_OF_A_KIND, (socket) => {
        const piece = request.repeat(500);
        const send = (): void => {
          while (socket.writable && socket.write(piece));
        };
        socket.resume().on('connect', send).on('drain', send);
      }),
    ),
  );

async function forgeries(issuer: TokenIssuer): Promise<never> {
  for (let index = 0; ; index++) {
    const socket = open().resume();
    const token = await issuer.token({ n: index }, { kid: `unknown ${index}` });
    socket.write(head('GET', `/plants/${plant}`, token, 'Connection: close'));
    await throttle();
  }
}

const issuer = await TokenIssuer.start();
await Promise.all([
  ...[slowReaders(), partialBodies(), storms(), bursts()],
  ...[forgeries(issuer), floods()],
]);
