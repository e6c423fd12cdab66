import type { ChildProcess } from 'node:child_process';

const running = new Set<ChildProcess>();

process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** Ends the child if this program ends before it, for whatever reason. */
export function endWithUs(child: ChildProcess): void {
  running.add(child);
  child.once('exit', () => running.delete(child));
}
