import { describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { PinoLogger } from './pino-logger.js';

interface Line {
  readonly level: number;
  readonly context?: string;
}

/** A logger, and the lines it has written so far. */
function recorded(level: string): { logger: PinoLogger; lines: Line[] } {
  const lines: Line[] = [];
  const logger = new PinoLogger(level);
  const write = (line: string): number => lines.push(JSON.parse(line) as Line);
  Object.assign((logger as unknown as { writer: object }).writer, { write });
  return { logger, lines };
}

describe('PinoLogger', () => {
  it.each([
    ['a name', new Logger('Jobs'), 'Jobs'],
    ['no name', new Logger(), undefined],
  ])("keeps all that is given to Nest's logger with %s", (_, nest, context) => {
    const { logger, lines } = recorded('info');
    Logger.overrideLogger(logger);
    const error = new TypeError('boom');
    nest.error('The job failed', error.stack);
    nest.error('The job failed', error);
    nest.error(error, error.stack);
    nest.warn('Too slow', { ms: 7 });
    nest.log(1);
    const stack = expect.stringContaining('pino-logger.spec');
    expect(lines).toMatchObject([
      { msg: 'The job failed', err: { stack } },
      { msg: 'The job failed', err: { type: 'TypeError', stack } },
      { msg: 'boom', err: { type: 'TypeError', stack } },
      { msg: 'Too slow', ms: 7 },
      { msg: '1' },
    ]);
    expect(lines.map((line) => line.context)).toEqual(lines.map(() => context));
    Logger.overrideLogger(false);
  });
});
