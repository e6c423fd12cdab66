import type { Socket } from 'node:net';

/** The holders that keep each connection from being read. */
const holders = new WeakMap<Socket, Set<unknown>>();

/**
 * Pauses reading from a connection until every holder has released it.
 *
 * @returns false if this holder was holding it already
 */
export function holdReading(socket: Socket, holder: unknown): boolean {
  const current = holders.get(socket) ?? new Set();
  if (current.has(holder)) return false;
  if (current.size === 0) socket.on('resume', pauseAgain);
  holders.set(socket, current.add(holder));
  socket.pause();
  return true;
}

export function releaseReading(socket: Socket, holder: unknown): void {
  const current = holders.get(socket);
  if (current?.delete(holder) !== true || current.size > 0) return;
  holders.delete(socket);
  socket.off('resume', pauseAgain).resume();
}

export function isReadingHeld(socket: Socket): boolean {
  return holders.has(socket);
}

/**
 * Pauses a socket again, since Node resumes it at the end of each request and when a body is read.
 */
function pauseAgain(this: Socket): void {
  // A socket that was resumed and paused in one turn continues to be read.
  if (this.isPaused()) this.resume();
  else this.pause();
}
