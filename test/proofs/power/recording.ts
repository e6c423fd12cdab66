import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HttpClient } from '../../support/http/connection.js';
import type { Field } from '../../support/http/request.js';
import { makeCreateRequest } from '../../support/plant-requests.js';
import { Program } from '../../support/program.js';
import { TOKEN } from '../../support/token.js';
import { Disk } from './disk.js';
import { makePlant, makeRequestId } from './plants.js';
import { readTrace, type Step, tracer } from './trace.js';

const SYNCHRONOUS_NORMAL = new URL('synchronous-normal.mjs', import.meta.url).href;

/** How the program is run while it is recorded. */
export interface Circumstances {
  readonly connections: number;
  /** Whether its commits are not flushed. */
  readonly isNormal?: boolean;
  /** Further options of strace. */
  readonly strace?: readonly string[];
}

/**
 * Records the file operations and answers of the program while it starts, runs under load and ends.
 */
export class Recording {
  readonly steps: Step[] = [];
  /** How many plants were sent. */
  plants = 0;
  readonly folder: string;
  private readonly disk: Disk;
  private runs = 0;
  private readonly unanswered: number[] = [];

  /** @param parent an existing folder, for the program's own and for the traces */
  constructor(
    private readonly parent: string,
    private readonly circumstances: Circumstances,
  ) {
    this.folder = join(parent, 'program');
    mkdirSync(this.folder);
    this.disk = new Disk(this.folder);
  }

  /**
   * Starts the program on the store of the last run, sends unanswered plants again and then this
   * many further plants, and ends it: after all answers, or during its work.
   */
  async run(creates: number, end: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const file = join(this.parent, `trace-${++this.runs}`);
    const program = this.start(file);
    const url = new URL(await program.listening());
    const pid = tracedBy(program);
    // One by one, so that each is a separate commit, if it commits at all.
    const retries = this.unanswered.splice(0);
    await this.send(url, 1, () => retries.shift());
    const last = this.plants + creates;
    await this.send(url, this.circumstances.connections, () => {
      if (this.plants === last) return undefined;
      if (++this.plants === last && end === 'SIGKILL') process.kill(pid, end);
      return this.plants;
    });
    if (end === 'SIGTERM') process.kill(pid, end);
    await program.exited();
    await this.read(file);
  }

  private start(file: string): Program {
    const { isNormal = false, strace = [] } = this.circumstances;
    return Program.start(tracer(file, ...strace), this.folder, {
      ACCESS_TOKENS: TOKEN,
      ...(isNormal && { NODE_OPTIONS: `--import=${SYNCHRONOUS_NORMAL}` }),
    });
  }

  private async send(url: URL, connections: number, next: () => number | undefined): Promise<void> {
    const connection = async (): Promise<void> => {
      const client = new HttpClient(() => url);
      for (let number = next(); number !== undefined; number = next()) {
        const request = makeCreateRequest(makePlant(number));
        const requestId: Field = ['X-Request-Id', makeRequestId(number)];
        const headers = [...request.headers, requestId];
        const answer = await client.send({ ...request, headers }).catch(() => undefined);
        if (answer === undefined) this.unanswered.push(number);
      }
      client.close();
    };
    await Promise.all(Array.from({ length: connections }, connection));
  }

  private async read(file: string): Promise<void> {
    const { steps, isCutOff } = await readTrace(file, this.steps.length, this.folder);
    for (const step of steps) this.add(step);
    // The files must match the recorded steps, except for calls that a kill has interrupted.
    for (const [path, bytes] of this.disk.current()) {
      const real = readFileSync(path);
      if (real.equals(bytes)) continue;
      if (!isCutOff) throw new Error(`${path} is not what the trace makes of it`);
      this.add({ kind: 'truncate', path, size: real.length });
      this.add({ kind: 'write', path, offset: 0, bytes: real });
    }
  }

  private add(step: Step): void {
    this.steps.push(step);
    this.disk.apply(step);
  }
}

/** The process that strace has started. */
function tracedBy({ pid }: Program): number {
  return Number(readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8'));
}
