import { readdirSync } from 'node:fs';
import type { Proof } from './proof.js';

// npm run prove -- <name> [options], with the names and options of docs/proofs.md

/** How many faults are printed. */
const SHOWN = 10;

const [name = '', ...args] = process.argv.slice(2);
const names = readdirSync(new URL('./', import.meta.url)).filter((file) => !file.includes('.'));

if (!names.includes(name)) {
  console.error(`npm run prove -- <name> [options]\n\nThe proofs: ${names.join(', ')}`);
  process.exitCode = 1;
} else {
  // A suite of node:test has no default export, and reports its faults itself.
  const proof = (await import(`./${name}/${name}.ts`)) as { default?: Proof };
  const faults = (await proof.default?.(args)) ?? [];
  for (const fault of faults.slice(0, SHOWN)) console.error(`FAILED: ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
}
