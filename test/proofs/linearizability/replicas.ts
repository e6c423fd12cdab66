import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../support/free-port.js';
import type { HttpAnswer } from '../../support/http/answer.js';
import { HttpClient } from '../../support/http/client.js';
import type { HttpRequest } from '../../support/http/request.js';
import { Program } from '../../support/program.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import { TOKEN } from '../../support/token.js';

/** The time in the `Retry-After` of a 503, in milliseconds. */
const RETRY_AFTER_MS = 1_000;

/** Starts a program in a folder. */
export type StartProgram = (folder: string, env: Record<string, string>) => Program;

/** Programs on one store, which are killed and started again. */
export class Replicas {
  private constructor(private readonly replicas: readonly Replica[]) {}

  /** @param startProgram by default the built program's */
  static async start(
    count: number,
    folder: string,
    databaseUrl: string,
    startProgram: StartProgram = (cwd, env) => Program.start(cwd, env),
  ): Promise<Replicas> {
    const replicas = await Promise.all(
      Array.from({ length: count }, () => Replica.start(folder, databaseUrl, startProgram)),
    );
    return new Replicas(replicas);
  }

  /** Sends a request to one program; undefined if it was killed before it answered. */
  async send(request: HttpRequest, random: SeededRandom): Promise<HttpAnswer | undefined> {
    return await this.any(random).send(request);
  }

  /** Returns the address of one program, which may have been killed. */
  anyOrigin(random: SeededRandom): string {
    return this.any(random).url.origin;
  }

  /** Kills one with SIGKILL, and starts it again. */
  async kill(random: SeededRandom): Promise<void> {
    await this.any(random).kill();
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.stop()));
  }

  private any(random: SeededRandom): Replica {
    const replica = this.replicas[random.below(this.replicas.length)];
    if (replica === undefined) throw new TypeError('there are no replicas');
    return replica;
  }
}

class Replica {
  private readonly idle: HttpClient[] = [];
  private program: Program;
  private listening: Promise<unknown>;

  private constructor(
    private readonly startProgram: () => Program,
    readonly url: URL,
  ) {
    this.program = startProgram();
    this.listening = this.program.listening();
  }

  static async start(
    folder: string,
    databaseUrl: string,
    startProgram: StartProgram,
  ): Promise<Replica> {
    const port = String(await freePort());
    const env = { ACCESS_TOKENS: TOKEN, DATABASE_URL: databaseUrl, HOST: '127.0.0.1', PORT: port };
    const url = new URL(`http://127.0.0.1:${port}`);
    const replica = new Replica(() => startProgram(folder, env), url);
    await replica.listening;
    return replica;
  }

  async send(request: HttpRequest): Promise<HttpAnswer | undefined> {
    await this.listening;
    const client = this.idle.pop() ?? new HttpClient(this.url);
    try {
      const answer = await client.send(request);
      this.idle.push(client);
      if (answer.status === 503) await sleep(RETRY_AFTER_MS);
      return answer;
    } catch {
      client.close();
      return undefined;
    }
  }

  async kill(): Promise<void> {
    await this.listening;
    const { program } = this;
    program.kill('SIGKILL');
    this.listening = program.exited().then(() => {
      this.program = this.startProgram();
      return this.program.listening();
    });
    await this.listening;
  }

  async stop(): Promise<void> {
    for (const client of this.idle) client.close();
    this.program.kill('SIGTERM');
    await this.program.exited();
  }
}
