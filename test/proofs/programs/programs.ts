import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { BUILD, type Proof } from '../proof.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const JEST = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

export default {
  summary:
    'the longest test suites: they kill and starve programs and servers, or send thousands of requests',
  takes: '2 min',
  before: BUILD,
  rest: 'patterns of the test files to run (all)',
  run: ({ rest }) => {
    const config = fileURLToPath(new URL('jest.config.mjs', import.meta.url));
    const args = [...JEST, 'node_modules/jest/bin/jest.js', '--config', config, ...rest];
    const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
    return Promise.resolve(status === 0 ? [] : ['a test fails']);
  },
} satisfies Proof;
