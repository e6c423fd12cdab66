import { once } from 'node:events';
import { Agent, type IncomingMessage, request as openRequest } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../packages/platform/src/testing/free-port.js';
import type { Program, ProgramFolder } from '../../support/program.js';
import { TOKEN } from '../../../packages/platform/src/testing/token.js';
import type { Answer, Request } from './requests.js';

/** How long a stop leaves idle connections open. */
const GRACE_MS = 2_000;
/** How long a client keeps an idle connection, if this machine lets it close the connection in time. */
const IDLE_MS = 1_000;
/** The time in the `Retry-After` of a 503. */
const RETRY_AFTER_MS = 1_000;
/** When a stop closes the connections of requests that still run. */
const CUT_OFF_MS = GRACE_MS + 5_250;

/** The most memory of a program, in MiB. */
const MAX_MEMORY_MIB = 350;

/** The environment in which the program serves all that a load asks for. */
const ENV = {
  CHANGE_FEED: 'on',
  NODE_OPTIONS: `--import=${new URL('chaos-module.mjs', import.meta.url).href}`,
  SHUTDOWN_GRACE_MS: String(GRACE_MS),
};

/** A program that is killed or stopped, and started again. Several may serve from one store. */
export class Replica {
  private readonly agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  /** When each connection got its last request. */
  private readonly usedAt = new WeakMap<Socket, number>();
  private program: Program;
  /** Resolves once it listens. */
  private serving: Promise<unknown>;
  /** When it got SIGTERM; undefined unless it stops. */
  private stopBegan: number | undefined;

  private constructor(
    private readonly startProgram: () => Program,
    private readonly port: number,
    private readonly faults: string[],
  ) {
    this.program = startProgram();
    this.serving = this.program.listening();
  }

  static async start(
    folder: ProgramFolder,
    env: Record<string, string>,
    faults: string[],
  ): Promise<Replica> {
    const port = await freePort();
    const own = { ...ENV, ...env, PORT: String(port) };
    const replica = new Replica(() => folder.serve(own), port, faults);
    await replica.serving;
    return replica;
  }

  /** Sends a request. Without an answer, its outcome is unknown. */
  async send({ method, path, headers, body }: Request): Promise<Answer | undefined> {
    const all = {
      Authorization: `Bearer ${TOKEN}`,
      ...(body !== undefined && {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
      }),
      ...headers,
    };
    const { agent, port } = this;
    for (;;) {
      const sent = openRequest({ agent, host: '127.0.0.1', port, method, path, headers: all });
      // An answer that breaks off is an error of the answer.
      sent.on('error', () => undefined);
      // A stop may close a connection that has been idle for longer, and this client may notice it late.
      let isKept = false;
      sent.on('socket', (socket) => {
        const now = performance.now();
        isKept = now - (this.usedAt.get(socket) ?? -Infinity) < GRACE_MS;
        this.usedAt.set(socket, now);
      });
      sent.end(body);
      let isAnswered = false;
      try {
        const [response] = (await once(sent, 'response')) as [IncomingMessage];
        isAnswered = true;
        const { statusCode: status = 0, headers: received } = response;
        const answer = { status, headers: received, body: await text(response) };
        if (status === 503) await sleep(RETRY_AFTER_MS);
        return answer;
      } catch (error) {
        const { syscall, message } = error as NodeJS.ErrnoException;
        if (syscall !== 'connect') {
          const wasAccepted = isAnswered || isKept;
          if (wasAccepted) this.noteLoss(`${method} ${path}: ${message}`);
          return undefined;
        }
        // Nothing was sent: the program does not listen.
        await this.serving;
        const { hasExited, errors } = this.program;
        if (hasExited) throw new Error(`A program ended by itself: ${errors}`, { cause: error });
      }
    }
  }

  /**
   * A stop answers everything that has arrived, and closes the connections of what still runs at
   * its end. The system resets connections that nobody has accepted when the program stops
   * listening.
   */
  private noteLoss(what: string): void {
    if (this.stopBegan === undefined) return;
    const ms = performance.now() - this.stopBegan;
    if (ms > CUT_OFF_MS) return;
    this.faults.push(`a stop lost an answer after ${ms.toFixed()} ms: ${what}`);
  }

  /**
   * Ends the program, and starts it again. Requests that find nobody listening wait for that.
   *
   * @param startMs also kills the next program, this long after its start
   */
  async restart(signal: 'SIGKILL' | 'SIGTERM', startMs?: number): Promise<void> {
    this.serving = this.end(signal).then(async () => {
      if (startMs !== undefined) {
        const program = this.startProgram();
        await sleep(startMs);
        await program.end('SIGKILL');
      }
      this.program = this.startProgram();
      await this.program.listening();
    });
    await this.serving;
  }

  /**
   * Does something after which the program may end, but only since SQLite has lost its locks. Then
   * kills it, and starts it again.
   */
  async killAfter(act: () => Promise<unknown>): Promise<void> {
    const { program } = this;
    this.serving = act().then(async () => {
      const isExplained = program.output.includes('the locks of SQLite');
      if (program.hasExited && !isExplained) this.faults.push(`exited: ${program.errors}`);
      await this.restart('SIGKILL');
    });
    await this.serving;
  }

  /** Ends the program. A stop must not be forced. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const isStop = signal === 'SIGTERM';
    if (isStop) {
      const memory = await this.program.residentMemory();
      if (memory > MAX_MEMORY_MIB) this.faults.push(`a program takes ${memory.toFixed()} MiB`);
      this.stopBegan = performance.now();
    }
    const exitCode = await this.program.end(signal);
    if (isStop && exitCode !== 0) {
      this.faults.push(`a stop ended with the exit code ${String(exitCode)}`);
    }
    this.stopBegan = undefined;
  }
}
