import type { Socket } from 'node:net';

/** Who wants connections not to be read. */
const holders = new WeakMap<Socket, Set<unknown>>();

/**
 * Reads no more from a connection than Node has read, until every holder has released it.
 *
 * @returns whether this holder did not hold it before
 */
export function holdReading(socket: Socket, holder: unknown): boolean {
  const those = holders.get(socket) ?? new Set();
  if (those.has(holder)) return false;
  if (those.size === 0) socket.on('resume', pauseAgain);
  holders.set(socket, those.add(holder));
  socket.pause();
  return true;
}

export function releaseReading(socket: Socket, holder: unknown): void {
  const those = holders.get(socket);
  if (those?.delete(holder) !== true || those.size > 0) return;
  holders.delete(socket);
  socket.off('resume', pauseAgain).resume();
}

/** Node resumes a socket at the end of each request, and whenever a body is read. */
function pauseAgain(this: Socket): void {
  // A socket that was resumed and paused in one turn is read though it is paused.
  if (this.isPaused()) this.resume();
  else this.pause();
}
