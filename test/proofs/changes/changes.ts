import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inNewFolder } from '../../support/new-folder.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { Program } from '../../support/program.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { forEachRow } from '../../support/stored-rows.js';
import { until } from '../../support/until.js';
import { Replicas } from '../linearizability/replicas.js';
import { type Entry, findFaults } from '../neighbours/neighbour-load.js';
import { BUILD, ENGINE, type Proof, type ProofOptions, SEED } from '../proof.js';
import { ChangeLedger, type FeedChange } from './change-ledger.js';
import { ChangeLoad } from './change-load.js';
import { Mirror, readFeed, writeRow } from './mirror.js';

const PROGRAM = fileURLToPath(new URL('../neighbours/program.ts', import.meta.url));
/** The first id of the modules' plants, far from those of clients; every start has its own. */
const MODULE_IDS = 1_000_000_000;
/** The plants of a module's transaction. */
const MODULE_ROWS = 3;
/** The longest time between two kills, and the time of load after the last, in milliseconds. */
const LONGEST_PAUSE_MS = 1_500;

export default {
  summary: 'mirrors the store by the feed of changes, across kills: all mirrors end up equal',
  takes: '2 min',
  before: BUILD,
  options: {
    kills: { summary: 'how often a program is killed', default: '20' },
    crashes: { summary: 'how often PostgreSQL is killed', default: '5' },
    ...ENGINE,
    ...SEED,
  },
  run: (options) => inNewFolder((folder) => prove(options, folder)),
} satisfies Proof;

async function prove(options: ProofOptions, folder: string): Promise<string[]> {
  const server = options.engine === 'postgres' ? await PostgresServer.start() : undefined;
  const storeUrl = server?.url() ?? `sqlite:${join(folder, 'plants.db')}`;
  const run = new Run(folder, storeUrl, server, new SeededRandom(options.number('seed')));
  const crashes = server === undefined ? 0 : options.number('crashes');
  console.log(`seed ${options.number('seed')}, ${options.engine}`);
  try {
    return await run.prove(options.number('kills'), crashes);
  } finally {
    await server?.remove();
  }
}

/** Programs on one store with load, mirrors of it, and kills. */
class Run {
  private readonly ledger = new ChangeLedger();
  private readonly programs: Program[] = [];
  private readonly mirrors: Mirror[] = [];
  private replicas: Replicas | undefined;

  constructor(
    private readonly folder: string,
    private readonly storeUrl: string,
    private readonly server: PostgresServer | undefined,
    private readonly random: SeededRandom,
  ) {}

  /** @returns the faults */
  async prove(kills: number, crashes: number): Promise<string[]> {
    const began = performance.now();
    const { random, mirrors, server } = this;
    let replicas = (this.replicas = await this.start(server === undefined ? 1 : 2, true));
    const origin = (): string => (this.replicas ?? replicas).anyOrigin(random);
    mirrors.push(await Mirror.onClient('the client', origin));
    mirrors.push(Mirror.onPages('the pages', origin));
    const load = new ChangeLoad(
      this.ledger,
      random,
      (request) => replicas.send(request, random),
      server?.url(),
    );
    for (let left = { kills, crashes }; left.kills + left.crashes > 0;) {
      await sleep(random.below(LONGEST_PAUSE_MS));
      // One after another: a program does not start while PostgreSQL is gone.
      if (random.below(left.kills + left.crashes) < left.kills) {
        await replicas.kill(random);
        left = { ...left, kills: left.kills - 1 };
      } else {
        await server?.kill('SIGQUIT');
        await server?.resume();
        left = { ...left, crashes: left.crashes - 1 };
      }
      if (mirrors.length === 2) mirrors.push(await Mirror.onClient('the late client', origin));
    }
    await sleep(LONGEST_PAUSE_MS);
    await load.stop();
    await replicas.stop();

    // The mirrors continue on a program to which nobody writes.
    replicas = this.replicas = await this.start(1, false);
    const { changes, texts } = await readFeed(origin());
    const newest = changes.at(-1)?.cursor;
    await until(() => mirrors.every(({ cursor }) => cursor === newest)).catch(() => undefined);
    await Promise.all(mirrors.map((mirror) => mirror.stop()));
    await replicas.stop();
    const faults = await this.audit(
      changes.map(({ cursor, type, id, at, data }) => {
        return { cursor, type, id: String(id), at: Date.parse(at), row: data };
      }),
      texts,
    );
    const seconds = ((performance.now() - began) / 1_000).toFixed();
    console.log(
      `${seconds} s, ${this.programs.length} starts: ${this.ledger.summary()}; ${changes.length} changes, ${faults.length} faults`,
    );
    return faults;
  }

  private async start(count: number, hasModules: boolean): Promise<Replicas> {
    return await Replicas.start(count, this.folder, this.storeUrl, (folder, env) => {
      const firstId = MODULE_IDS + 1_000_001 * this.programs.length;
      const modules = hasModules ? { FIRST_ID: String(firstId) } : undefined;
      const settings = { ...env, ...modules, CHANGE_FEED: 'on', LOG_LEVEL: 'silent' };
      const program = Program.startScript(folder, settings, PROGRAM);
      this.programs.push(program);
      return program;
    });
  }

  private async audit(feed: readonly FeedChange[], texts: readonly string[]): Promise<string[]> {
    const names = new Map<string, string>();
    const stored = new Map<string, string>();
    await forEachRow(this.storeUrl, ({ id, name, tag }) => {
      names.set(id, name);
      stored.set(id, writeRow({ name, tag }));
    });
    const entries = this.readEntries();
    this.noteModules(entries, feed);
    return [
      ...this.mirrors.flatMap((mirror) => compareMirror(mirror, stored, feed, texts)),
      ...this.ledger.audit(feed),
      ...findFaults(
        entries.filter(({ kind }) => kind !== 'failed'),
        names,
      ),
    ];
  }

  /** Reads the reports of the modules. A killed program may have left an incomplete line. */
  private readEntries(): Entry[] {
    return this.programs
      .flatMap(({ output }) => output.split('\n').slice(0, -1))
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Entry);
  }

  private noteModules(entries: readonly Entry[], feed: readonly FeedChange[]): void {
    const { ledger } = this;
    for (const { kind, id } of entries) {
      const ids =
        kind === 'saved' ? [id] : Array.from({ length: MODULE_ROWS }, (_, row) => id + row);
      const name = `${kind === 'saved' ? 'save' : 'transaction'} ${id}`;
      if (kind === 'failed') continue;
      const outcome = kind === 'rolled back' ? 'refused' : 'done';
      for (const one of ids) ledger.note({ effect: 'created', id: String(one), name, outcome });
    }
    // Unreported rows may be stored, unless their transaction was to be rolled back.
    for (const { id, row: { name = '' } = {} } of feed) {
      const [, kind, first] = /^(save|transaction) (\d+)$/.exec(name) ?? [];
      const isUndone = kind === 'transaction' && Number(first) % 2 === 0;
      if (kind !== undefined && !isUndone && !ledger.knows(id, name)) {
        ledger.note({ effect: 'created', id, name, outcome: 'unknown' });
      }
    }
  }
}

function compareMirror(
  { name, start, rows, changes }: Mirror,
  stored: ReadonlyMap<string, string>,
  feed: readonly FeedChange[],
  texts: readonly string[],
): string[] {
  const ids = new Set([...rows.keys(), ...stored.keys()]);
  const faults = [...ids]
    .filter((id) => rows.get(id) !== stored.get(id))
    .map(
      (id) => `${name} has ${rows.get(id) ?? 'no'} ${id}, the store ${stored.get(id) ?? 'none'}`,
    );
  const began = feed.findIndex(({ cursor }) => cursor === start) + 1;
  const wanted = texts.slice(began);
  const wrong = wanted.findIndex((text, index) => text !== changes[index]);
  if (wrong !== -1 || changes.length !== wanted.length) {
    faults.push(
      `${name} has ${changes.length} of ${wanted.length} changes: ${changes[wrong] ?? 'none'} where the feed has ${wanted[wrong] ?? 'none'}`,
    );
  }
  return faults;
}
