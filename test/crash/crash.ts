import { randomInt } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { StoreReader } from '../../src/commands/store-reader.js';
import { Choices } from '../fuzz/choices.js';
import { ACCESS_TOKENS } from '../fuzz/headers.js';
import { Program } from '../support/program.js';
import { CrashLedger } from './crash-ledger.js';
import { CrashLoad } from './crash-load.js';

// npm run test:crash -- --rounds 50 --seed 1

const CONNECTIONS = 64;
/** The latest moment of a kill, in milliseconds after the load or the start began. */
const LONGEST_LOAD = 1_500;
const LONGEST_START = 800;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) },
  },
});
const rounds = Number(values.rounds);
const choices = new Choices(Number(values.seed));
const folder = mkdtempSync(join(tmpdir(), 'plant-store-crash-'));
const store = join(folder, 'store');
const ledger = new CrashLedger(choices);

console.log(`seed ${values.seed}, ${rounds} rounds, ${CONNECTIONS} connections`);
try {
  for (let round = 1; round <= rounds && process.exitCode === undefined; round++) {
    const { summary, faults } = await crash(round);
    console.log(`round ${round}: ${summary}, ${faults.length} faults`);
    for (const fault of faults.slice(0, 10)) console.error(`FAILED: ${fault}`);
    if (faults.length > 0) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}

/** Starts the program on the store of the round before, kills it, and looks at what it left. */
async function crash(round: number): Promise<{ summary: string; faults: string[] }> {
  const startKill = round > 1 && choices.below(4) === 0 ? choices.below(LONGEST_START) : undefined;
  if (startKill !== undefined) await killDuringStart(startKill);

  const program = start();
  const load = new CrashLoad(new URL(await program.listening()), ledger, {
    connections: CONNECTIONS,
  });
  // A quarter of the kills come in the first moments, when the connections are still being made.
  const delay = choices.below(choices.below(4) === 0 ? 50 : LONGEST_LOAD);
  await setTimeout(delay);
  program.kill('SIGKILL');
  await program.exited();
  const { answers, faults } = await load.stopped();

  const copy = copyOfStore();
  faults.push(...(await integrityFaults(copy)), ...(await ledger.audit(`sqlite:${copy}`)));
  const early = startKill === undefined ? '' : `killed ${startKill} ms into a start, then `;
  const summary = `${early}killed after ${delay} ms of load: ${answers} answers, ${ledger.summary()}`;
  return { summary, faults };
}

async function killDuringStart(delay: number): Promise<void> {
  const program = start();
  await setTimeout(delay);
  program.kill('SIGKILL');
  await program.exited();
}

function start(): Program {
  return Program.start(folder, { ACCESS_TOKENS, DATABASE_URL: 'sqlite:store/plants.db' });
}

/** To look at the store itself would mend it, which is for the program's next start to do. */
function copyOfStore(): string {
  const copy = join(folder, 'copy');
  rmSync(copy, { recursive: true, force: true });
  cpSync(store, copy, { recursive: true });
  return join(copy, 'plants.db');
}

async function integrityFaults(path: string): Promise<string[]> {
  const reader = await StoreReader.open(path, 'rw');
  return await reader.integrityFaults().finally(() => reader.close());
}
