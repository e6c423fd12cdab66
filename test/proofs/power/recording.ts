import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HttpClient } from '../../support/http/request.js';
import { makeCreateRequest, type NewPlant } from '../../support/plant-requests.js';
import { Program } from '../../support/program.js';
import { TOKEN } from '../../../packages/platform/src/testing/token.js';
import { readTrace, type Trace, tracer } from './trace.js';

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
  /** How many plants were sent. */
  plants = 0;
  readonly folder: string;
  private readonly unanswered: number[] = [];

  /** @param parent an existing folder, for the program's own and for the trace */
  constructor(
    private readonly parent: string,
    private readonly circumstances: Circumstances,
  ) {
    this.folder = join(parent, 'program');
    mkdirSync(this.folder);
  }

  /**
   * Starts the program on the store of the last run, sends unanswered plants again and then this
   * many further plants, and ends it: after all answers, or during its work.
   */
  async run(creates: number, end: 'SIGTERM' | 'SIGKILL'): Promise<Trace> {
    const { connections, isNormal = false, strace = [] } = this.circumstances;
    const file = join(this.parent, 'trace');
    const program = Program.start(tracer(file, ...strace), this.folder, {
      ACCESS_TOKENS: TOKEN,
      ...(isNormal && { NODE_OPTIONS: `--import=${SYNCHRONOUS_NORMAL}` }),
    });
    const url = new URL(await program.listening());
    const pid = tracedBy(program);
    // One by one, so that each is a separate commit, if it commits at all.
    const retries = this.unanswered.splice(0);
    await this.send(url, 1, () => retries.shift());
    const last = this.plants + creates;
    await this.send(url, connections, () => {
      if (this.plants === last) return undefined;
      if (++this.plants === last && end === 'SIGKILL') process.kill(pid, end);
      return this.plants;
    });
    if (end === 'SIGTERM') process.kill(pid, end);
    await program.exited();
    return await readTrace(file, this.folder);
  }

  private async send(url: URL, connections: number, next: () => number | undefined): Promise<void> {
    const connection = async (): Promise<void> => {
      const client = new HttpClient(() => url);
      for (let number = next(); number !== undefined; number = next()) {
        const request = makeCreateRequest(makePlant(number));
        const headers = [...request.headers, ['X-Request-Id', `plant-${number}`] as const];
        const answer = await client.send({ ...request, headers }).catch(() => undefined);
        if (answer === undefined) this.unanswered.push(number);
      }
      client.close();
    };
    await Promise.all(Array.from({ length: connections }, connection));
  }
}

/** The process that strace has started. */
function tracedBy({ pid }: Program): number {
  return Number(readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8'));
}

/**
 * Makes the plant of a number, which its name, its id and the X-Request-Id of its request contain.
 */
export function makePlant(number: number): NewPlant {
  const name = `plant-${number}.`;
  const plant = {
    // A different id for each number, spread over all int64 values.
    id: BigInt.asIntN(64, BigInt(number) * 0x9e3779b97f4a7c15n),
    name: number % 40 === 0 ? name.padEnd(5_000, ' é☘') : name,
  };
  return number % 3 === 0 ? { ...plant, tag: 'indoor' } : plant;
}

/** Lists the numbers of the plants in a text, or in the bytes of a file. */
export function numbersIn(text: Buffer | string): number[] {
  return [...text.toString('latin1').matchAll(/plant-(\d+)\b/g)].map(([, number]) =>
    Number(number),
  );
}
