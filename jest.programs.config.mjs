import { shared } from './jest.config.mjs';

// Tests that are dear: they start and kill the built program again and again, or test the fuzzer.
/** @type {import('jest').Config} */
export default {
  ...shared,
  testTimeout: 60_000,
  roots: ['test'],
  testRegex: String.raw`/(programs/[^/]+|fuzz/oracle)\.e2e-spec\.ts$`,
  globals: { engine: 'sqlite' },
};
