import { Logger } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLOSE_TIMEOUT_MS, LOG_FLUSH_MS } from '../config/time-limits.js';
import { PinoLogger } from '../observability/pino-logger.js';
import { explainExit } from '../observability/print-failure.js';
import { Connections } from '../server/connections.js';

/** How long other work of the process, such as an export of traces, may outlast a stop. */
const EXIT_DELAY_MS = 250;

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Nest's hooks of a stop. Further hooks of a phase run once the earlier ones have ended. */
const HOOKS = ['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown'] as const;
type Hooked = Partial<Record<(typeof HOOKS)[number], (signal?: string) => unknown>>;

const logger = new Logger('Main');

/**
 * Exits at once on a signal during the start, when no request has been accepted yet. An exit for
 * another reason is explained.
 */
export function handleEarlyExits(): void {
  // Process 1 of a container ignores signals that have no handler.
  for (const signal of SIGNALS) process.once(signal, exit);
  process.once('exit', explainExit);
  // Node prints an uncaught error itself.
  process.once('uncaughtExceptionMonitor', leaveExitsUnexplained);
}

function leaveExitsUnexplained(): void {
  process.off('exit', explainExit);
}

function exit(): void {
  leaveExitsUnexplained();
  process.exit();
}

/** Stops on a signal or an uncaught error, once all requests that have arrived are answered. */
export function shutDownOnSignals(app: NestExpressApplication): void {
  leaveExitsUnexplained();
  let isStopping = false;
  const running = recordHooks(app);
  const stop = (reason: string, signal?: string): void => {
    // Ctrl-C may reach the program several times, and a stop ends in bounded time.
    if (isStopping) return;
    isStopping = true;
    logger.log(`${reason}: answering the requests that have arrived, then stopping`);
    const maxMs = app.get(Connections).maxDrainMs + CLOSE_TIMEOUT_MS;
    const force = (): void => {
      const hooks = running.size === 0 ? 'the store or a client' : [...running].join(' and ');
      void forceExit(app, hooks);
    };
    const forcing = setTimeout(force, maxMs);
    void close(app, signal).then(() => clearTimeout(forcing));
  };
  for (const signal of SIGNALS) process.off(signal, exit).on(signal, () => stop(signal, signal));
  // Node reports unhandled rejections here too.
  process.on('uncaughtException', (error) => {
    logger.fatal(error);
    process.exitCode = 1;
    stop('Uncaught error');
  });
}

/** Returns the names of the hooks that run, now and later, such as `BedsService.onModuleDestroy()`. */
function recordHooks(app: NestExpressApplication): ReadonlySet<string> {
  const running = new Set<string>();
  const modules = [...app.get(ModulesContainer).values()];
  const wrappers = modules.flatMap(({ providers, controllers, injectables }) => [
    ...providers.values(),
    ...controllers.values(),
    ...injectables.values(),
  ]);
  for (const instance of new Set(wrappers.map((wrapper) => wrapper.instance as Hooked | null))) {
    for (const hook of HOOKS) {
      const call = instance?.[hook];
      if (instance == null || typeof call !== 'function') continue;
      const name = `${instance.constructor.name}.${hook}()`;
      instance[hook] = async (signal) => {
        running.add(name);
        try {
          await call.call(instance, signal);
        } finally {
          running.delete(name);
        }
      };
    }
  }
  return running;
}

async function close(app: NestExpressApplication, signal?: string): Promise<void> {
  const pino = app.get(PinoLogger);
  try {
    // Nest's types leave out the signal, which its hooks get.
    await (app as { close: (signal?: string) => Promise<void> }).close(signal);
    logger.log('Stopped');
  } catch (error) {
    logger.error(error);
    process.exitCode = 1;
  }
  if (!(await pino.flush())) await forceExit(app, 'writing the log');
  setTimeout(() => process.exit(), EXIT_DELAY_MS).unref();
}

/**
 * Ends the process even if one of its threads hangs, as in a flush to a failing disk.
 * process.exit() waits for every thread.
 *
 * @param culprit what took too long
 */
async function forceExit(app: NestExpressApplication, culprit: string): Promise<void> {
  logger.error(`The stop is forced: ${culprit} took too long`);
  await Promise.race([app.get(PinoLogger).flush(), sleep(LOG_FLUSH_MS)]);
  process.kill(process.pid, 'SIGKILL');
  // The system does not let process 1 send itself SIGKILL.
  process.abort();
}
