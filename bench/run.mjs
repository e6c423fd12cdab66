import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { existsSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { drawChart } from './chart.mjs';
import { besideNeighbour, CONTESTANTS, LIFE_NAMES, peer, program } from './contestants.mjs';
import { defaultLoad, getLoad } from './load.mjs';
import { changes } from './measure/changes.mjs';
import { compare } from './measure/compare.mjs';
import { fixedRate } from './measure/fixed-rate.mjs';
import { importing } from './measure/import.mjs';
import { life } from './measure/life.mjs';
import { lifeOnPostgres, postgres } from './measure/postgres.mjs';
import { overload } from './measure/overload.mjs';
import { HELP, OptionError, readOptions } from './options.mjs';
import { record } from './record.mjs';
import { ContestantError } from './server.mjs';

/** The least share of their rate that creates must keep beside another writing module. */
const LEAST_SHARE = 0.8;
/** Code that runs 100 times per second is compiled only after this many seconds. */
const NEIGHBOUR_WARM_UP = 10;

const here = (file) => fileURLToPath(new URL(file, import.meta.url));

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

async function main(args) {
  const options = readOptions(args);
  if (options.help) return console.log(HELP);
  if (!existsSync(here('../dist/main.js'))) {
    throw new OptionError('There is no built program: run npm run build first');
  }

  const loadName = options.load ?? defaultLoad();
  const setting = {
    ...options,
    folder: await temporaryFolder(options.folder ?? here('data')),
    load: getLoad(loadName),
    faults: [],
  };
  const machine = { node: process.version, cores: os.availableParallelism(), load: loadName };
  console.log(`Node ${machine.node}, ${machine.cores} cores, loaded by ${loadName}`);
  const results = await measureAll(setting);

  const chart = options.chart ?? (args.length === 0 ? here('chart.svg') : undefined);
  if (chart && results.compare) await writeFile(chart, drawChart(results.compare, setting));
  const { faults } = setting;
  if (options.json) {
    const report = { date: new Date().toISOString(), ...machine, options, results, faults };
    await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  if (options.record) console.log(`\nRecorded in ${await record(args, { ...setting, loadName })}`);
  verdict(faults);
}

async function measureAll(setting) {
  const { contestants } = setting;
  const results = {};
  if (setting.fixedRate) {
    const few = contestants ?? [program()];
    results.fixedRate = await fixedRate(setting, few, setting.fixedRate);
  }
  if (setting.life) results.life = await life(setting, contestants ?? peersOfLife());
  if (setting.postgresLife) results.postgresLife = await lifeOnPostgres(setting);
  if (setting.postgres) results.postgres = await postgres(setting);
  if (setting.costs) results.costs = await compare(setting, variants(), 'Costs');
  if (setting.nodes) results.nodes = await compare(setting, onEach(setting.nodes), 'Node');
  if (setting.neighbour) results.neighbour = await neighbour(setting);
  if (setting.changes) results.changes = await changes(setting);
  if (setting.overload) results.overload = await overload(setting);
  if (setting.import) {
    const importers = [program(), peer('fastify-import', 'Fastify + better-sqlite3, by hand')];
    results.import = await importing(setting, contestants ?? importers);
  }
  if (Object.keys(results).length === 0) {
    results.compare = await compare(setting, contestants ?? CONTESTANTS, 'Durable creates');
  }
  return results;
}

function peersOfLife() {
  return CONTESTANTS.filter(({ name }) => LIFE_NAMES.includes(name));
}

/** The program as shipped, and variants without one feature each. */
function variants() {
  return [
    program(),
    program('without-logging', 'Plant Store, LOG_LEVEL=silent', { LOG_LEVEL: 'silent' }),
  ];
}

/** The program on this Node and on others. */
function onEach(nodes) {
  const others = nodes.map((node) => {
    const version = readVersion(node);
    return { ...program(version, `Node ${version}`), node };
  });
  return [program('this', `Node ${process.version}`), ...others];
}

function readVersion(node) {
  try {
    return execFileSync(node, ['--version'], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch (error) {
    throw new OptionError(`--nodes must be binaries of Node: ${node} is none`, { cause: error });
  }
}

/** Measures the share of their rate that creates keep while another module writes too. */
async function neighbour(setting) {
  const warmUp = Math.max(setting.warmUp, NEIGHBOUR_WARM_UP);
  const both = [besideNeighbour(), program()];
  const measured = await compare({ ...setting, warmUp }, both, 'A neighbour');
  const share = measured.contestants[1].ratio.median;
  if (share < LEAST_SHARE) {
    console.error(`\nFAILED: beside a neighbour creates keep ${share.toFixed(2)} of their rate`);
    process.exitCode = 1;
  }
  return measured;
}

/** Creates a folder beside the program. The system's temporary folder may not be on a disk. */
async function temporaryFolder(parent) {
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(path.join(path.resolve(parent), 'run-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function verdict(faults) {
  if (faults.length === 0) {
    console.log('\nEvery acknowledged change is stored, and nothing else.');
  } else {
    console.error(`\nAcknowledged and stored changes differ:\n${faults.join('\n')}`);
    process.exitCode = 1;
  }
}
