import { PinoLogger } from '../../packages/platform/src/observability/pino-logger.js';
import type { PlantsApplication } from './plants-application.js';

/** Records the lines of an application from now on, instead of writing them. */
export function recordLog({ nest }: PlantsApplication, level: string): string[] {
  const recorded: string[] = [];
  const logger = nest.get<{ writer: object; pino: { level: string } }>(PinoLogger);
  Object.assign(logger.writer, { write: (line: string) => recorded.push(line) });
  logger.pino.level = level;
  return recorded;
}
