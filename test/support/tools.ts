import { spawnSync } from 'node:child_process';

/**
 * Whether this machine has a command. A test without its command is skipped on a developer's
 * machine.
 *
 * @throws Error without the command where `CI` is set, so that no promise goes unproved unnoticed
 */
export function hasTool(command: string): boolean {
  if (spawnSync(command, ['--version']).status === 0) return true;
  if (process.env.CI) throw new Error(`CI is set, but this machine has no ${command}`);
  return false;
}
