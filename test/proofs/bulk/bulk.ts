import {
  type ImportResult,
  type NewPlant,
  PlantStoreClient,
  type StoredPlant,
} from '../../../client/plant-store-client.js';
import { inNewFolder } from '../../support/new-folder.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { Program } from '../../support/program.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { TestStore } from '../../support/test-store.js';
import { TOKEN } from '../../support/token.js';
import { BUILD, ENGINE, type Proof, SEED } from '../proof.js';

/** The most memory of a program, in MiB, however many plants it imports or exports. */
const MEMORY_MIB = 350;
const MEMORY_CHECK_MS = 250;
/** Plants whose ids are multiples of this number are removed during exports. */
const REMOVED = 10;
const WRITERS = 4;

export default {
  summary:
    'imports plants across a kill, and exports them beside changes: each once, in flat memory',
  takes: '3 min',
  before: BUILD,
  options: {
    plants: { summary: 'how many plants', default: '1000000' },
    ...ENGINE,
    ...SEED,
  },
  run: async (options) => {
    const seed = options.number('seed');
    const { engine } = options;
    console.log(`seed ${seed}, ${engine}`);
    const server = engine === 'postgres' ? await PostgresServer.start() : undefined;
    if (server !== undefined) process.env.TEST_POSTGRES_URL = server.url();
    const store = await TestStore.create(engine);
    return await inNewFolder(async (folder) => {
      const bulk = new Bulk(folder, store.url, options.number('plants'), new SeededRandom(seed));
      try {
        await bulk.run(engine === 'postgres' ? 2 : 1);
        return bulk.faults;
      } finally {
        await bulk.stop();
        await store.remove();
        await server?.remove();
      }
    });
  },
} satisfies Proof;

class Bulk {
  readonly faults: string[] = [];
  private readonly programs: Program[] = [];
  private readonly watches: NodeJS.Timeout[] = [];
  private memory = 0;

  constructor(
    private readonly folder: string,
    private readonly databaseUrl: string,
    private readonly plants: number,
    private readonly random: SeededRandom,
  ) {}

  /** @param replicas how many programs import and export at once */
  async run(replicas: number): Promise<void> {
    await this.importAcrossKill();
    const clients = await Promise.all(Array.from({ length: replicas }, () => this.start()));
    await this.importAtOnce(clients);
    await this.exportBesideChanges(clients);
    console.log(`at most ${this.memory.toFixed()} MiB in a program`);
    this.check(this.memory < MEMORY_MIB, `a program took ${this.memory.toFixed()} MiB`);
  }

  async stop(): Promise<void> {
    for (const watch of this.watches) clearInterval(watch);
    for (const program of this.programs) program.kill('SIGKILL');
    await Promise.all(this.programs.map((program) => program.exited()));
  }

  private async start(): Promise<PlantStoreClient> {
    const env = { ACCESS_TOKENS: TOKEN, DATABASE_URL: this.databaseUrl };
    const program = Program.start(this.folder, env);
    this.programs.push(program);
    const watch = setInterval(() => {
      if (program.hasExited) return;
      void program.residentMemory().then(
        (memory) => (this.memory = Math.max(this.memory, memory)),
        () => undefined,
      );
    }, MEMORY_CHECK_MS);
    this.watches.push(watch);
    return new PlantStoreClient(await program.listening(), TOKEN, { timeoutMs: 60_000 });
  }

  /** Imports all plants, kills the program meanwhile, and imports them all again. */
  private async importAcrossKill(): Promise<void> {
    const { plants } = this;
    const killedAt = this.random.below(plants);
    const first = await this.start();
    const program = this.programs.at(-1);
    const cut = first.importPlants(
      plantsFrom(1, plants, (id) => {
        if (id === killedAt) program?.kill('SIGKILL');
      }),
    );
    const isCut = await cut.then(
      () => false,
      () => true,
    );
    this.check(isCut || killedAt === 0, 'an import was answered though its program was killed');
    await this.stop();

    const again = await this.start();
    const began = performance.now();
    const result = await again.importPlants(plantsFrom(1, plants));
    console.log(`killed at line ${killedAt}, sent again: ${describe(result, began)}`);
    this.checkCounts(result, plants);
    this.check(result.identical <= killedAt + 1, 'more was stored than was sent');
    await this.stop();
  }

  /** Every program imports the same new plants at once: one of them creates each. */
  private async importAtOnce(clients: readonly PlantStoreClient[]): Promise<void> {
    const [from, to] = [this.plants + 1, this.plants + Math.ceil(this.plants / 10)];
    const results = await Promise.all(
      clients.map((client) => client.importPlants(plantsFrom(from, to))),
    );
    for (const result of results) this.checkCounts(result, to - from + 1);
    const created = results.reduce((sum, result) => sum + result.created, 0);
    this.check(created === to - from + 1, `${created} of ${to - from + 1} were created at once`);
  }

  /** Exports in every order and from every program, while plants are created and removed. */
  private async exportBesideChanges(clients: readonly PlantStoreClient[]): Promise<void> {
    const changes = new AbortController();
    const writers = clients.flatMap((client, replica) =>
      Array.from({ length: WRITERS }, (_, writer) => {
        const start = replica * WRITERS + writer;
        return this.change(client, start, clients.length * WRITERS, changes.signal);
      }),
    );
    const orders = ['id', '-name'] as const;
    await Promise.all(
      orders.map(async (sort, index) => {
        const client = clients[index % clients.length];
        const began = performance.now();
        const exported = await this.checkExport(client?.exportPlants({ sort }) ?? []);
        const seconds = ((performance.now() - began) / 1_000).toFixed(1);
        console.log(`exported by ${sort}: ${exported} plants in ${seconds} s`);
      }),
    );
    changes.abort();
    const counts = await Promise.all(writers);
    console.log(`beside ${counts.reduce((sum, count) => sum + count, 0)} creates and removes`);
  }

  /** Creates and removes plants, each id once, until it is stopped. */
  private async change(
    client: PlantStoreClient,
    start: number,
    step: number,
    signal: AbortSignal,
  ): Promise<number> {
    let count = 0;
    for (let id = start; !signal.aborted; id += step, count += 2) {
      await client.createPlant({ id: -1 - id, name: `new ${id}` });
      if (REMOVED * (id + 1) <= this.plants) await client.removePlant(REMOVED * (id + 1));
    }
    return count;
  }

  /** @returns how many plants there were */
  private async checkExport(
    exported: AsyncIterable<StoredPlant> | Iterable<StoredPlant>,
  ): Promise<number> {
    const counts = new Map<bigint, number>();
    const seen = new Uint8Array(this.plants + 1);
    let total = 0;
    for await (const { id, name } of exported) {
      total++;
      const isOld = id > 0n && id <= BigInt(this.plants);
      if (isOld) seen[Number(id)] = (seen[Number(id)] ?? 0) + 1;
      else counts.set(id, (counts.get(id) ?? 0) + 1);
      if (isOld && name !== makeName(Number(id))) this.check(false, `${id} has the name ${name}`);
    }
    const twice = seen.filter((count) => count > 1).length;
    const others = [...counts.values()].filter((count) => count > 1).length;
    this.check(twice + others === 0, `${twice + others} plants were exported twice`);
    let missing = 0;
    for (let id = 1; id <= this.plants; id++) if (id % REMOVED !== 0 && seen[id] === 0) missing++;
    this.check(missing === 0, `${missing} plants were not exported`);
    return total;
  }

  private checkCounts({ created, identical, failed }: ImportResult, plants: number): void {
    const isRight = created + identical === plants && failed === 0;
    this.check(
      isRight,
      `of ${plants}: ${created} created, ${identical} identical, ${failed} failed`,
    );
  }

  private check(holds: boolean, fault: string): void {
    if (!holds) this.faults.push(fault);
  }
}

/** @param onNext is called with each id before it is sent */
function* plantsFrom(
  from: number,
  to: number,
  onNext: (id: number) => void = () => undefined,
): Generator<NewPlant> {
  for (let id = from; id <= to; id++) {
    onNext(id);
    yield { id, name: makeName(id), tag: 'indoor' };
  }
}

/** Many plants share a name. */
function makeName(id: number): string {
  return `Monstera ${id % 1_000}`;
}

function describe({ created, identical }: ImportResult, began: number): string {
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  return `${created} created, ${identical} identical in ${seconds} s`;
}
