import { AsyncLocalStorage } from 'node:async_hooks';
import { TestEnvironment } from 'jest-environment-node';

// At the end of a run, Jest gives its workers half a second to exit. Freeing the memory of all
// tests first may take Node longer, and Jest would then report open handles.
// Only workers have `send`: the main process has an exit code to set.
if (process.send !== undefined) process.once('exit', () => process.exit());

/** The storages that the current test file has used. Jest uses one, and leaves it on. */
const storages = new Set();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...parameters) {
  storages.add(this);
  return run.apply(this, parameters);
};

/**
 * Switches the storages off after each test file. Before Node 24, each one that is on slows every
 * promise of the process.
 */
export default class Environment extends TestEnvironment {
  async teardown() {
    for (const storage of storages) storage.disable();
    storages.clear();
    await super.teardown();
  }
}
