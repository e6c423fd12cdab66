import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT_COMMAND = process.getuid?.() === 0 ? [] : ['sudo', '--non-interactive'];

/**
 * Whether this machine has a tool. A test without its tool is skipped on a developer's machine.
 *
 * @param name for the message
 * @throws Error without the tool where `CI` is set, so that no promise goes unproved unnoticed
 */
export function hasTool(name: string, isThere: () => boolean = () => runs(name)): boolean {
  if (isThere()) return true;
  if (process.env.CI) throw new Error(`CI is set, but this machine has no ${name}`);
  return false;
}

function runs(command: string): boolean {
  return spawnSync(command, ['--version']).status === 0;
}

/** Mounts an empty file system in memory, as root or with sudo. */
export function mountMemory(folder: string, options: string): void {
  runAsRoot('mount', '-t', 'tmpfs', '-o', options, 'tmpfs', folder);
}

export function unmount(folder: string): void {
  runAsRoot('umount', folder);
}

/** Whether {@link mountMemory} works. */
export function mayMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
  try {
    mountMemory(folder, 'size=1m');
    unmount(folder);
    return true;
  } catch {
    return false;
  } finally {
    rmdirSync(folder);
  }
}

function runAsRoot(...command: readonly string[]): void {
  const [program = '', ...args] = [...ROOT_COMMAND, ...command];
  execFileSync(program, args, { stdio: 'ignore' });
}
