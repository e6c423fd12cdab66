import { assertRequirements } from '../config/requirements.js';
import { printFailure } from '../observability/print-failure.js';

// Imports no package, so that it can explain why one cannot be loaded.

/**
 * Runs a program or a command, and prints why it cannot be loaded.
 *
 * @param run imports all modules, and what it needs of them
 */
export async function start(run: () => Promise<void>): Promise<void> {
  try {
    assertRequirements();
    await run();
  } catch (error) {
    printFailure('The start failed', error);
    // Node may reject a second promise, of which it would print a stack.
    process.exit();
  }
}
