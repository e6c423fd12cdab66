import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { existsSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawChart } from './chart.js';
import {
  besideNeighbour,
  type Contestant,
  CONTESTANTS,
  peer,
  program,
  type TableContestant,
} from './contestants.js';
import { findLoad, LOADS } from './load.js';
import { changes } from './measure/changes.js';
import { compare, type Comparison } from './measure/compare.js';
import { fixedRate } from './measure/fixed-rate.js';
import { importing } from './measure/import.js';
import { life } from './measure/life.js';
import { lifeOnPostgres, postgres } from './measure/postgres.js';
import { overload } from './measure/overload.js';
import type { Setting } from './measure/round.js';
import { HELP, OptionError, type Options, readOptions } from './options.js';
import { record } from './record.js';
import { ContestantError } from './server.js';

/** The least share of their rate that creates must keep beside another writing module. */
const LEAST_SHARE = 0.8;
/** Code that runs 100 times per second is compiled only after this many seconds. */
const NEIGHBOUR_WARM_UP = 10;

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

interface Results {
  /** The results of each option. */
  [measurement: string]: unknown;
  /** The result without an option. */
  compare?: Comparison;
}

// Runs the exit handlers, which end the programs and remove their databases.
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));

try {
  await main(process.argv.slice(2));
} catch (error) {
  const isTold = error instanceof OptionError || error instanceof ContestantError;
  console.error(isTold ? error.message : error);
  process.exit(1);
}

async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  if (options.help) {
    console.log(HELP);
    return;
  }
  if (!existsSync(here('../dist/main.js'))) {
    throw new OptionError('There is no built program: run npm run build first');
  }

  const loadName = options.load ?? findLoad();
  const folder = await makeFolder(options.folder ?? here('data'));
  const faults: string[] = [];
  const setting = { ...options, folder, load: LOADS[loadName], faults };
  const machine = { node: process.version, cores: os.availableParallelism(), load: loadName };
  console.log(`Node ${machine.node}, ${machine.cores} cores, loaded by ${loadName}`);
  const results = await measureAll(setting);

  const chart = options.chart ?? (args.length === 0 ? here('chart.svg') : undefined);
  if (chart && results.compare) await writeFile(chart, drawChart(results.compare, setting));
  if (options.json) {
    const report = { date: new Date().toISOString(), ...machine, options, results, faults };
    await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  if (options.record) console.log(`\nRecorded in ${await record(args, folder, loadName)}`);
  giveVerdict(faults);
}

async function measureAll(setting: Setting & Omit<Options, 'folder' | 'load'>): Promise<Results> {
  const { contestants } = setting;
  const results: Results = {};
  if (setting.fixedRate) {
    const few = contestants ?? [program()];
    results.fixedRate = await fixedRate(setting, few, setting.fixedRate);
  }
  if (setting.life) {
    const peers = contestants?.map(requireTable) ?? CONTESTANTS.filter(hasTable);
    results.life = await life(setting, peers);
  }
  if (setting.postgresLife) results.postgresLife = await lifeOnPostgres(setting);
  if (setting.postgres) results.postgres = await postgres(setting);
  if (setting.costs) results.costs = await compare(setting, variants(), 'Costs');
  if (setting.nodes) results.nodes = await compare(setting, onEach(setting.nodes), 'Node');
  if (setting.neighbour) results.neighbour = await neighbour(setting);
  if (setting.changes) results.changes = await changes(setting);
  if (setting.overload) results.overload = await overload(setting);
  if (setting.import) {
    const byHand = peer('fastify-import', 'Fastify + better-sqlite3, by hand');
    const [first = program(), ...others] = contestants?.map(requireTable) ?? [program(), byHand];
    results.import = await importing(setting, first, others);
  }
  if (Object.keys(results).length === 0) {
    results.compare = await compare(setting, contestants ?? CONTESTANTS, 'Durable creates');
  }
  return results;
}

function hasTable(contestant: Contestant): contestant is TableContestant {
  return 'fill' in contestant;
}

/** @throws OptionError */
function requireTable(contestant: Contestant): TableContestant {
  if (hasTable(contestant)) return contestant;
  throw new OptionError(`--life and --import cannot measure ${contestant.name}`);
}

/** The program as shipped, and variants without one feature each. */
function variants(): Contestant[] {
  return [
    program(),
    program('without-logging', 'Plant Store, LOG_LEVEL=silent', { LOG_LEVEL: 'silent' }),
  ];
}

/** The program on this Node and on others. */
function onEach(nodes: readonly string[]): Contestant[] {
  const others = nodes.map((node) => {
    const version = readVersion(node);
    return { ...program(version, `Node ${version}`), node };
  });
  return [program('this', `Node ${process.version}`), ...others];
}

function readVersion(node: string): string {
  try {
    return execFileSync(node, ['--version'], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch (error) {
    throw new OptionError(`--nodes must be binaries of Node: ${node} is none`, { cause: error });
  }
}

/** Measures the share of their rate that creates keep while another module writes too. */
async function neighbour(setting: Setting): Promise<Comparison> {
  const warmUp = Math.max(setting.warmUp, NEIGHBOUR_WARM_UP);
  const both = [besideNeighbour(), program()];
  const measured = await compare({ ...setting, warmUp }, both, 'A neighbour');
  const share = measured.contestants[1]?.ratio.median ?? 0;
  if (share < LEAST_SHARE) {
    console.error(`\nFAILED: beside a neighbour creates keep ${share.toFixed(2)} of their rate`);
    process.exitCode = 1;
  }
  return measured;
}

/** Creates a folder beside the program. The system's temporary folder may not be on a disk. */
async function makeFolder(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(path.join(path.resolve(parent), 'run-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function giveVerdict(faults: readonly string[]): void {
  if (faults.length === 0) {
    console.log('\nEvery acknowledged change is stored, and nothing else.');
  } else {
    console.error(`\nAcknowledged and stored changes differ:\n${faults.join('\n')}`);
    process.exitCode = 1;
  }
}
