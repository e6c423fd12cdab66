import { describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { pino } from 'pino';
import { PinoLogger } from './pino-logger.js';

interface Line {
  readonly level: number;
  readonly context?: string;
}

/** Makes a logger that writes with a function. */
function loggerBy(write: (line: string) => void, level: string): PinoLogger {
  const logger = new PinoLogger(level);
  Object.assign((logger as unknown as { writer: object }).writer, { write });
  return logger;
}

/** A logger, and the lines it has written so far. */
function recorded(level: string): { logger: PinoLogger; lines: Line[] } {
  const lines: Line[] = [];
  const logger = loggerBy((line) => lines.push(JSON.parse(line) as Line), level);
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

  it.each<[string, object]>([
    [
      'a path of any characters',
      { requestId: 'a', path: '/"\\\u0000\n\ud800é', status: 404, ms: 0.1, msg: 'GET /"\n 404' },
    ],
    ['a method of none', { requestId: 'a', method: undefined, status: undefined, msg: 'Not HTTP' }],
    ['a trace', { requestId: 'a', clientAddress: '::1', trace_id: 'b', span_id: 'c', msg: 'm' }],
  ])('writes a request with %s as pino does', (_, fields) => {
    jest.spyOn(Date, 'now').mockReturnValue(1_000);
    const written: string[] = [];
    const write = (line: string): number => written.push(line);
    const logger = loggerBy(write, 'debug');
    for (const level of ['info', 'debug'] as const) {
      logger.request(level, fields);
      pino({ level: 'debug', base: null }, { write })[level](fields);
    }
    jest.restoreAllMocks();
    expect(written[0]).toBe(written[1]);
    expect(written[2]).toBe(written[3]);
    expect(written).toHaveLength(4);
  });
});
