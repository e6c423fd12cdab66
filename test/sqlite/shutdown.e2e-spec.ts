import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as after } from 'node:timers/promises';
import { PlantsService } from '../../src/plants/plants.service.js';
import { parseAnswer, type RawAnswer } from '../support/raw-http.js';
import { Program } from '../support/program.js';
import { TestApp, TOKEN } from '../support/test-app.js';

let lastId = 0;

function createRequest(): string {
  const body = JSON.stringify({ id: ++lastId, name: 'Monstera' });
  return `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`;
}

/** A connection that knows what has left for the server and what came back. */
class Client {
  /** How many requests the system has taken over, to their last byte. */
  sent = 0;
  readonly answers: RawAnswer[] = [];
  readonly closed: Promise<unknown>;
  private readonly socket: Socket;
  private received = '';
  private seen = 0;
  private wake: () => void = () => undefined;

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1' });
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.socket.on('close', resolve));
    this.socket.on('close', () => this.wake());
    this.socket.on('data', (chunk: Buffer) => this.read(chunk.toString()));
  }

  /** Resolves once the system has taken the bytes over, or never will. */
  async write(bytes: string, requests = 0): Promise<void> {
    await new Promise<void>((resolve) => {
      this.socket.write(bytes, (error) => {
        if (!error) this.sent += requests;
        resolve();
      });
    });
  }

  async send(): Promise<void> {
    await this.write(createRequest(), 1);
  }

  /** Resolves with the next answer, or with undefined once the connection is closed. */
  async next(): Promise<RawAnswer | undefined> {
    const seen = (this.seen += 1);
    if (this.answers.length < seen && !this.socket.closed) {
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
    return this.answers[seen - 1];
  }

  /** Creates one plant after another until the connection is closed. */
  async createOn(): Promise<void> {
    do await this.send();
    while ((await this.next())?.headers.connection === 'keep-alive');
  }

  /** Does not read what comes. */
  pause(): void {
    this.socket.pause();
  }

  destroy(): void {
    this.socket.destroy();
  }

  private read(text: string): void {
    this.received += text;
    while (this.received.includes('\r\n\r\n')) {
      const answer = parseAnswer(this.received);
      if (answer.body.length < Number(answer.headers['content-length'])) return;
      this.answers.push(answer);
      this.wake();
      this.received = answer.rest;
    }
  }
}

describe('the program, told to stop', () => {
  let folder: string;
  let program: Program;
  let port: number;

  async function start(env: Record<string, string> = {}): Promise<void> {
    program = Program.start(folder, { ACCESS_TOKENS: TOKEN, LOG_LEVEL: 'info', ...env });
    port = Number(new URL(await program.listening()).port);
  }

  function clients(count: number): Client[] {
    return Array.from({ length: count }, () => new Client(port));
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  });

  afterEach(async () => {
    program.kill('SIGKILL');
    await program.exited();
    await rm(folder, { recursive: true });
  });

  // The program is held while its last requests are sent: some are then under way in it, some
  // wait unread on connections it knows, some on connections it has not accepted yet.
  it.each(['SIGTERM', 'SIGINT', 'SIGTERM', 'SIGINT', 'SIGTERM'] as const)(
    'under load by %s answers every request that was sent whole, and exits 0',
    async (signal) => {
      await start();
      const busy = clients(64);
      const busyOnes = Promise.all(busy.map((client) => client.createOn()));
      const [idle] = clients(1);
      await idle?.send();
      await idle?.next();
      await after(Math.random() * 300);

      program.kill('SIGSTOP');
      const late = clients(200);
      await Promise.all(late.map((client) => client.send()));
      const pipelining = clients(2);
      const quick = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
      const pipelines = [createRequest() + createRequest() + createRequest(), quick.repeat(3)];
      await Promise.all(pipelining.map((client, index) => client.write(pipelines[index] ?? '', 3)));
      const sent = [...busy, ...late, ...pipelining].map((client): [Client, number] => [
        client,
        client.sent,
      ]);
      program.kill(signal);
      program.kill('SIGCONT');

      expect(await program.exited()).toBe(0);
      await Promise.all([busyOnes, ...sent.map(([client]) => client.closed)]);
      for (const [client, count] of sent) {
        expect(client.answers.length).toBeGreaterThanOrEqual(count);
        expect(client.answers.every(({ status }) => status === 200)).toBe(true);
      }
      const lastOnes = late.map(({ answers }) => answers[0]?.headers.connection);
      expect(new Set(lastOnes)).toEqual(new Set(['close']));
    },
  );

  it('with clients that do not go on exits 0 within seconds', async () => {
    await start();
    const [silent, halfHead, halfBody, deaf] = clients(4);
    await halfHead?.write('POST /plants HTTP/1.1\r\nHost:');
    await halfBody?.write(createRequest().slice(0, -1));
    deaf?.pause();
    await deaf?.write('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20));
    // An answer on a further connection tells that these have been accepted.
    await fetch(`http://127.0.0.1:${String(port)}/health/live`);
    const began = Date.now();
    program.kill('SIGTERM');
    expect(await program.exited()).toBe(0);
    expect(Date.now() - began).toBeLessThan(5_000);
    await silent?.closed;
    deaf?.destroy();
  }, 10_000);

  it('exits 1 at once by a second signal a second later', async () => {
    await start();
    const [half] = clients(1);
    await half?.write('POST /plants HTTP/1.1\r\nHost:');
    // An answer on another connection tells that the first has been accepted.
    await fetch(`http://127.0.0.1:${String(port)}/health/live`);
    program.kill('SIGTERM');
    await program.printed(/SIGTERM: answering what has arrived/);
    await after(1_100);
    const began = performance.now();
    program.kill('SIGTERM');
    expect(await program.exited()).toBe(1);
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it.each(['throw new Error("boom")', 'Promise.reject(new Error("boom"))'])(
    'by an error that nothing caught, logs it, answers and exits 1: %s',
    async (bug) => {
      const hook = `process.on("SIGUSR2",()=>{${bug}})`;
      await start({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` });
      const busy = clients(8);
      const sent = Promise.all(busy.map((client) => client.createOn()));
      await fetch(`http://127.0.0.1:${String(port)}/health/ready`);
      program.kill('SIGUSR2');
      expect(await program.exited()).toBe(1);
      await sent;
      const answers = busy.flatMap((client) => client.answers);
      expect(answers.every(({ status }) => status === 200)).toBe(true);
      expect(answers.some(({ headers }) => headers.connection === 'close')).toBe(true);
      expect(program.output).toMatch(/"level":60.*boom/);
      expect(program.output).toContain('Stopped');
    },
  );
});

describe('while the application closes', () => {
  let app: TestApp;
  let finish: () => void;
  let arrived: Promise<void>;

  beforeEach(async () => {
    app = await TestApp.start();
    const held = new Promise<void>((resolve) => (finish = resolve));
    arrived = new Promise((resolve) => {
      jest.spyOn(app.nest.get(PlantsService), 'create').mockImplementation(async () => {
        resolve();
        await held;
        return { name: 'held' };
      });
    });
  });

  afterEach(async () => {
    await app.close();
  });

  it('requests under way are answered and say that the connection closes', async () => {
    const client = new Client(app.port);
    await client.send();
    await arrived;
    const closed = app.nest.close();
    await nextTurn();
    finish();
    await client.closed;
    expect(client.answers).toMatchObject([{ status: 200, headers: { connection: 'close' } }]);
    await closed;
  });

  it('pipelined requests under way are all answered', async () => {
    const client = new Client(app.port);
    await client.write([1, 2, 3].map(() => createRequest()).join(''));
    await arrived;
    // The rest of the piece is read in this turn of the event loop.
    await nextTurn();
    const closed = app.nest.close();
    await nextTurn();
    finish();
    await client.closed;
    expect(client.answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    await closed;
  });
});
