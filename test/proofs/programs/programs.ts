import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Proof } from '../proof.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CONFIG = fileURLToPath(new URL('jest.config.mjs', import.meta.url));

/** Runs the test suites in this folder whose paths match one of the arguments, or else all. */
export default ((args) => {
  // Most tests wait for programs, so a worker for each core is not too many.
  const jest = ['run', 'jest', '--', '--config', CONFIG, '--maxWorkers', '100%', ...args];
  const { status } = spawnSync('npm', jest, { cwd: ROOT, stdio: 'inherit' });
  return Promise.resolve(status === 0 ? [] : ['a test fails']);
}) satisfies Proof;
