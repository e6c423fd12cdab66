import type { ServerResponse } from 'node:http';

/**
 * Closes the connection of an answer that must not look complete. An answer over HTTP/1.0 may have
 * no other end than that of its connection, so its connection is reset.
 */
export function breakOff(response: ServerResponse): void {
  const { req, socket } = response;
  // The system cannot reset a connection whose end is being sent.
  if (req.httpVersion === '1.0' && socket?.writable === true) socket.resetAndDestroy();
  response.destroy();
}
