import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { OptionError, type Proof, ProofOptions } from './proof.js';

// npm run prove -- <name> [options], npm run prove -- --list

const FOLDER = new URL('./', import.meta.url);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const USAGE = 'npm run prove -- <name> [options]\nnpm run prove -- --list';
/** How many faults are printed. */
const SHOWN = 10;

const [name, ...args] = process.argv.slice(2);
const names = readdirSync(FOLDER)
  .filter((one) => existsSync(findFile(one)))
  .sort();

if (name === '--list') {
  for (const one of names) console.log(describeProof(one, await load(one)));
} else if (name === undefined || !names.includes(name)) {
  console.error(`${USAGE}\n\nThe proofs: ${names.join(', ')}`);
  process.exitCode = 1;
} else {
  await prove(await load(name));
}

function findFile(proof: string): URL {
  return new URL(`${proof}/${proof}.ts`, FOLDER);
}

async function load(proof: string): Promise<Proof> {
  return ((await import(findFile(proof).href)) as { default: Proof }).default;
}

async function prove(proof: Proof): Promise<void> {
  try {
    const options = ProofOptions.parse(proof, args);
    for (const command of proof.before ?? []) {
      execFileSync('sh', ['-ec', command], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
    }
    const faults = await proof.run(options);
    for (const fault of faults.slice(0, SHOWN)) console.error(`FAILED: ${fault}`);
    if (faults.length > 0) process.exitCode = 1;
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/** Describes a proof and its options for the reader. */
function describeProof(
  proof: string,
  { summary, takes, needs, options = {}, rest }: Proof,
): string {
  const lines = Object.entries(options).map(([option, { summary: what, default: value }]) => {
    const usual = value === undefined ? '' : ` (${value})`;
    return `      --${option.padEnd(14)} ${what}${usual}`;
  });
  if (rest !== undefined) lines.push(`      ${rest}`);
  const time = needs === undefined ? takes : `${takes}; needs ${needs}`;
  return [`${proof}: ${summary}`, `      ${time}`, ...lines, ''].join('\n');
}
