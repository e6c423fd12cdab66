import process from 'node:process';

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();

process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** Ends the child if this program ends before it, for whatever reason. */
export function endWithUs(child) {
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}
