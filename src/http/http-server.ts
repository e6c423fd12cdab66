import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** How long requests may take to end once the server closes, in milliseconds. */
const CLOSING_TIME = 5_000;
/** How often connections that have become idle are looked for, in milliseconds. */
const IDLE_CHECK = 50;

/** Sets up what happens below Express. */
export function configureServer(server: Server): void {
  // Whether to continue is decided once the token has been looked at: the body reader tells.
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
    server.emit('request', req, res);
  });
}

/**
 * Lets every connection of a server that is about to close end: after its answer, at once when it
 * is idle, and at the latest after a few seconds. Node alone waits for busy keep-alive clients
 * for ever.
 */
export function closeConnections(server: Server): void {
  server.prependListener('request', (_: IncomingMessage, res: ServerResponse) => {
    res.shouldKeepAlive = false;
  });
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK);
  const all = setTimeout(() => server.closeAllConnections(), CLOSING_TIME);
  server.once('close', () => {
    clearInterval(idle);
    clearTimeout(all);
  });
}
