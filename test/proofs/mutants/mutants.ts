import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inNewFolder } from '../../support/new-folder.js';
import { OptionError, type Proof } from '../proof.js';
import { MUTANTS, type Mutant } from './faults.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const LEFT_OUT = ['.git', 'node_modules', 'data', 'coverage', 'bench'];
/** How long a test may hang because of a fault, in milliseconds. */
const TEST_TIMEOUT_MS = 60_000;
const JEST = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

export default {
  summary: 'plants faults in a copy of the platform, one at a time: the tests must fail',
  takes: '25 min',
  rest: 'words of the faults or files to try (all)',
  run: async ({ rest }) => {
    const mutants = MUTANTS.filter(
      ({ fault, file }) =>
        rest.length === 0 || rest.some((word) => `${fault} ${file}`.includes(word)),
    );
    if (mutants.length === 0) throw new OptionError('no fault has these words');
    return await inNewFolder((folder) => Promise.resolve(tryAll(mutants, folder)));
  },
} satisfies Proof;

/** Returns the faults that no test has found. */
function tryAll(mutants: readonly Mutant[], folder: string): string[] {
  const copy = join(folder, 'project');
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !LEFT_OUT.includes(basename(path)) });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  // Checks all texts first: a missing text would be a fault that is not planted.
  const mutated = mutants.map((mutant) => mutate(copy, mutant));
  const tests = [...new Set(mutants.map(({ test }) => test))];
  const failing = tests.filter((test) => !passes(copy, test));
  if (failing.length > 0) return failing.map((test) => `without any fault: ${test}`);
  const survivors: string[] = [];
  for (const [index, { fault, file, test }] of mutants.entries()) {
    const path = join(copy, file);
    const original = readFileSync(path, 'utf8');
    writeFileSync(path, mutated[index] ?? '');
    const isFound = !passes(copy, test);
    writeFileSync(path, original);
    console.log(`${isFound ? 'found' : 'NOT FOUND'}: ${fault}`);
    if (!isFound) survivors.push(`${fault} (${file}), by ${test}`);
  }
  console.log(`${mutants.length - survivors.length} of ${mutants.length} faults are found`);
  return survivors;
}

/**
 * Writes the text of a file with the fault. @throws Error unless the text to replace occurs once
 */
function mutate(copy: string, { fault, file, text, replacement }: Mutant): string {
  const parts = readFileSync(join(copy, file), 'utf8').split(text);
  if (parts.length === 2) return parts.join(replacement);
  throw new Error(`${file} has the text of "${fault}" ${parts.length - 1} times, not once`);
}

/** @param test a project, a file, and a common part of the titles of the tests */
function passes(copy: string, test: string): boolean {
  const [project = '', file = '', ...title] = test.split(' ');
  const titles = title.length === 0 ? [] : ['--testNamePattern', title.join(' ')];
  // A failing test may leave handles open.
  const modes = ['--bail', '--runInBand', '--forceExit', '--silent'];
  const timeout = `--testTimeout=${TEST_TIMEOUT_MS}`;
  const args = [...modes, timeout, '--selectProjects', project, ...titles];
  const { status } = spawnSync(
    process.execPath,
    [...JEST, 'node_modules/jest/bin/jest.js', ...args, '--', file],
    { cwd: copy, stdio: 'ignore' },
  );
  return status === 0;
}
