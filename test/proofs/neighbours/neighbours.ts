import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { HttpClient } from '../../support/http/client.js';
import { inNewFolder } from '../../support/new-folder.js';
import { makeCreateRequest } from '../../support/plant-requests.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { Program } from '../../support/program.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { forEachRow } from '../../support/stored-rows.js';
import { TOKEN } from '../../support/token.js';
import { BUILD, ENGINE, type Proof, SEED } from '../proof.js';
import { type Entry, findFaults } from './neighbour-load.js';

const PROGRAM = fileURLToPath(new URL('program.ts', import.meta.url));
const CONNECTIONS = 32;
/** The first id of the neighbours, far from those of the creates; every start has its own. */
const NEIGHBOUR_IDS = 1_000_000_000;

export default {
  summary:
    'creates beside transactions and saves in the same program, and kills it: nothing is lost',
  takes: '1 min',
  before: BUILD,
  options: {
    seconds: { summary: 'how long each of six loads lasts', default: '4' },
    kills: { summary: 'how many kills', default: '10' },
    ...ENGINE,
    ...SEED,
  },
  run: async (options) => {
    const { engine } = options;
    const seed = options.number('seed');
    console.log(`${engine}, seed ${seed}, ${CONNECTIONS} connections`);
    return await inNewFolder(async (folder) => {
      const server = engine === 'postgres' ? await PostgresServer.start() : undefined;
      const storeUrl = server?.url() ?? `sqlite:${join(folder, 'plants.db')}`;
      const rounds = new Rounds(
        folder,
        storeUrl,
        options.number('seconds'),
        new SeededRandom(seed),
      );
      return await rounds.run(options.number('kills')).finally(() => server?.remove());
    });
  },
} satisfies Proof;

/** Loads and kills of a program, one after another, on one store. */
class Rounds {
  private readonly entries: Entry[] = [];
  private readonly acknowledged = new Set<number>();
  private lastId = 0;
  private starts = 0;

  constructor(
    private readonly folder: string,
    private readonly storeUrl: string,
    private readonly seconds: number,
    private readonly random: SeededRandom,
  ) {}

  /** @returns the faults of the store at the end */
  async run(kills: number): Promise<string[]> {
    for (let round = 1; round <= 3; round++) {
      const alone = await this.measure(false);
      const beside = await this.measure(true);
      console.log(
        `round ${round}: ${alone.rate.toFixed(0)} creates/s alone, ${beside.rate.toFixed(0)} beside neighbours, the longest ${beside.longest.toFixed(0)} ms`,
      );
    }
    for (let kill = 1; kill <= kills; kill++) await this.killUnderLoad(kill);
    return await this.audit();
  }

  /** Creates for some seconds. */
  private async measure(hasNeighbours: boolean): Promise<{ rate: number; longest: number }> {
    const program = await this.start(hasNeighbours);
    const url = new URL(await program.listening());
    const before = this.acknowledged.size;
    const end = performance.now() + this.seconds * 1_000;
    const longest = await this.load(url, () => performance.now() < end);
    const rate = (this.acknowledged.size - before) / this.seconds;
    program.kill('SIGTERM');
    await program.exited();
    this.collect(program);
    return { rate, longest };
  }

  private async killUnderLoad(kill: number): Promise<void> {
    const program = await this.start(true);
    const url = new URL(await program.listening());
    const ended = this.load(url, () => true);
    const delay = this.random.below(1_500);
    await sleep(delay);
    program.kill('SIGKILL');
    await program.exited();
    await ended;
    this.collect(program);
    console.log(
      `kill ${kill} after ${delay} ms: ${this.acknowledged.size} creates acknowledged so far`,
    );
  }

  private start(hasNeighbours: boolean): Promise<Program> {
    const env = {
      ACCESS_TOKENS: TOKEN,
      DATABASE_URL: this.storeUrl,
      LOG_LEVEL: 'silent',
      ...(hasNeighbours && { FIRST_ID: String(NEIGHBOUR_IDS + 1_000_001 * ++this.starts) }),
    };
    return Promise.resolve(Program.startScript(this.folder, env, PROGRAM));
  }

  /**
   * Records the reports of the other modules. A killed program may have left an incomplete line.
   */
  private collect({ output }: Program): void {
    const lines = output.split('\n').slice(0, -1);
    this.entries.push(
      ...lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Entry),
    );
  }

  /**
   * Creates plants on some connections, and resolves with the longest time of a create, in
   * milliseconds.
   */
  private async load(url: URL, goesOn: () => boolean): Promise<number> {
    let longest = 0;
    const create = async (): Promise<void> => {
      const client = new HttpClient(url);
      while (goesOn()) {
        const id = ++this.lastId;
        const began = performance.now();
        const request = makeCreateRequest({ id: BigInt(id), name: `plant ${id}` });
        const answer = await client.send(request).catch(() => undefined);
        if (answer === undefined) break;
        longest = Math.max(longest, performance.now() - began);
        if (answer.status === 200) this.acknowledged.add(id);
      }
      client.close();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, create));
    return longest;
  }

  private async audit(): Promise<string[]> {
    const names = new Map<string, string>();
    await forEachRow(this.storeUrl, ({ id, name }) => names.set(id, name));
    const lost = [...this.acknowledged].filter((id) => names.get(String(id)) !== `plant ${id}`);
    const faults = [...lost.map((id) => `plant ${id} is lost`), ...findFaults(this.entries, names)];
    const count = (kind: Entry['kind']): number =>
      this.entries.filter((entry) => entry.kind === kind).length;
    console.log(
      `${this.acknowledged.size} creates acknowledged, ${count('committed')} transactions committed, ${count('rolled back')} rolled back, ${count('saved')} saves: ${faults.length} faults`,
    );
    return faults;
  }
}
