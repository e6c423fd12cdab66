import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { setTimeout as sleep } from 'node:timers/promises';
import { PinoLogger } from './platform/observability/pino-logger.js';
import { Connections } from './platform/server/connections.js';

/** How long the rest of a stop may take once all connections are closed. */
const CLOSE_TIMEOUT_MS = 250;
/** How long a forced stop waits for the log. */
const LOG_FLUSH_MS = 250;
/** How long other work of the process, such as an export of traces, may outlast a stop. */
const EXIT_DELAY_MS = 250;

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

const logger = new Logger('Main');

/** Exits at once on a signal during the start, when no request has been accepted yet. */
export function exitOnSignals(): void {
  // Process 1 of a container ignores signals that have no handler.
  for (const signal of SIGNALS) process.once(signal, exit);
}

function exit(): void {
  process.exit();
}

/** Stops on a signal or an uncaught error, once all requests that have arrived are answered. */
export function shutDownOnSignals(app: NestExpressApplication): void {
  let isStopping = false;
  const stop = (reason: string): void => {
    // Ctrl-C may reach the program several times, and a stop takes 8 seconds at most.
    if (isStopping) return;
    isStopping = true;
    logger.log(`${reason}: answering the requests that have arrived, then stopping`);
    const maxMs = app.get(Connections).maxDrainMs + CLOSE_TIMEOUT_MS;
    const forcing = setTimeout(() => void forceExit(app), maxMs);
    void close(app).then(() => clearTimeout(forcing));
  };
  for (const signal of SIGNALS) process.off(signal, exit).on(signal, stop);
  // Node reports unhandled rejections here too.
  process.on('uncaughtException', (error) => {
    logger.fatal(error);
    process.exitCode = 1;
    stop('Uncaught error');
  });
}

async function close(app: NestExpressApplication): Promise<void> {
  const pino = app.get(PinoLogger);
  try {
    await app.close();
    logger.log('Stopped');
  } catch (error) {
    logger.error(error);
    process.exitCode = 1;
  }
  if (!(await pino.flush())) await forceExit(app);
  setTimeout(() => process.exit(), EXIT_DELAY_MS).unref();
}

/**
 * Ends the process even if one of its threads hangs, as in a flush to a failing disk.
 * process.exit() waits for every thread.
 */
async function forceExit(app: NestExpressApplication): Promise<void> {
  logger.error('The stop is forced: the store or a client took too long');
  await Promise.race([app.get(PinoLogger).flush(), sleep(LOG_FLUSH_MS)]);
  process.kill(process.pid, 'SIGKILL');
  // The system does not let process 1 send itself SIGKILL.
  process.abort();
}
