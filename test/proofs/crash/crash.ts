import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { SqliteReader } from '../../../src/commands/sqlite-reader.js';
import { inNewFolder } from '../../support/new-folder.js';
import { Program } from '../../support/program.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { TOKEN } from '../../support/token.js';
import { BUILD, type Proof, SEED } from '../proof.js';
import { CrashLedger } from './crash-ledger.js';
import { CrashLoad } from './crash-load.js';

const CONNECTIONS = 64;
/** The latest moment of a kill, in milliseconds after the load or the start began. */
const LONGEST_LOAD = 1_500;
const LONGEST_START = 800;

export default {
  summary: 'kills the program under load, and finds everything that it acknowledged',
  takes: '4 s per round',
  before: BUILD,
  options: { rounds: { summary: 'how many kills', default: '10' }, ...SEED },
  run: async (options) => {
    const seed = options.number('seed');
    const rounds = options.number('rounds');
    console.log(`seed ${seed}, ${rounds} rounds, ${CONNECTIONS} connections`);
    return await inNewFolder((folder) => new Crashes(folder, new SeededRandom(seed)).run(rounds));
  },
} satisfies Proof;

/** Kills of the program, one after another, on one store. */
class Crashes {
  private readonly store: string;
  private readonly ledger: CrashLedger;

  constructor(
    private readonly folder: string,
    private readonly random: SeededRandom,
  ) {
    this.store = join(folder, 'store');
    this.ledger = new CrashLedger(random);
  }

  /** @returns the faults of the first round that has any */
  async run(rounds: number): Promise<string[]> {
    for (let round = 1; round <= rounds; round++) {
      const { summary, faults } = await this.crash(round);
      console.log(`round ${round}: ${summary}, ${faults.length} faults`);
      if (faults.length > 0) return faults;
    }
    return [];
  }

  /** Starts the program on the store of the round before, kills it, and checks the store. */
  private async crash(round: number): Promise<{ summary: string; faults: string[] }> {
    const { random, ledger } = this;
    const startKill = round > 1 && random.below(4) === 0 ? random.below(LONGEST_START) : undefined;
    if (startKill !== undefined) await this.killDuringStart(startKill);

    const program = this.start();
    const load = new CrashLoad(new URL(await program.listening()), ledger, {
      connections: CONNECTIONS,
    });
    // A quarter of the kills happen at once, while the connections are being opened.
    const delay = random.below(random.below(4) === 0 ? 50 : LONGEST_LOAD);
    await setTimeout(delay);
    program.kill('SIGKILL');
    await program.exited();
    const { answers, faults } = await load.stopped();

    const copy = this.copyStore();
    faults.push(...(await findIntegrityFaults(copy)), ...(await ledger.audit(`sqlite:${copy}`)));
    const early = startKill === undefined ? '' : `killed ${startKill} ms into a start, then `;
    const summary = `${early}killed after ${delay} ms of load: ${answers} answers, ${ledger.summary()}`;
    return { summary, faults };
  }

  private async killDuringStart(delay: number): Promise<void> {
    const program = this.start();
    await setTimeout(delay);
    program.kill('SIGKILL');
    await program.exited();
  }

  private start(): Program {
    return Program.start(this.folder, {
      ACCESS_TOKENS: TOKEN,
      DATABASE_URL: 'sqlite:store/plants.db',
    });
  }

  /**
   * Opening the store itself would recover it, which must be left to the next start of the program.
   */
  private copyStore(): string {
    const copy = join(this.folder, 'copy');
    rmSync(copy, { recursive: true, force: true });
    cpSync(this.store, copy, { recursive: true });
    return join(copy, 'plants.db');
  }
}

async function findIntegrityFaults(path: string): Promise<string[]> {
  const reader = await SqliteReader.open(path, 'rw');
  return await reader.findIntegrityFaults().finally(() => reader.close());
}
