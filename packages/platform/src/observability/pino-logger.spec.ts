import { describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { AxiosError, AxiosHeaders } from 'axios';
import pg from 'pg';
import { EntityNotFoundError, QueryFailedError } from 'typeorm';
import { PinoLogger } from './pino-logger.js';

interface Line {
  readonly level: number;
  readonly context?: string;
}

/** A logger, and the lines it has written so far. */
function recorded(level: string): { logger: PinoLogger; lines: Line[]; texts: string[] } {
  const lines: Line[] = [];
  const texts: string[] = [];
  const logger = new PinoLogger(level);
  const write = (line: string): void => {
    texts.push(line);
    lines.push(JSON.parse(line) as Line);
  };
  Object.assign((logger as unknown as { writer: object }).writer, { write });
  return { logger, lines, texts };
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

const SECRET = 'a-secret';

/** An error as axios throws it. */
function axiosError(): AxiosError {
  const headers = new AxiosHeaders({ Authorization: `Bearer ${SECRET}` });
  return new AxiosError('The request failed', 'ERR_BAD_REQUEST', { headers });
}

/** An error as PostgreSQL's driver and TypeORM throw it. */
function statementError(code: string, message: string): QueryFailedError {
  const cause = Object.assign(new pg.DatabaseError(message, 0, 'error'), {
    code,
    detail: `Failing row contains (2, ${SECRET})`,
    where: `unnamed portal parameter $1 = '${SECRET}'`,
  });
  return new QueryFailedError('INSERT INTO t VALUES ($1)', [SECRET], cause);
}

it.each<[string, unknown[]]>([
  ['an error of axios', [axiosError()]],
  ['an error of axios as a cause', [new Error('It failed', { cause: axiosError() })]],
  ['an error of axios among others', [new AggregateError([axiosError()])]],
  ['an error of axios as a member', ['It failed', { error: axiosError() }]],
  ['an error of axios in a list', ['They failed', [{ reason: axiosError() }]]],
  ['a thrown object', [{ err: { headers: SECRET } }]],
  ['a row that breaks a constraint', [statementError('23514', 'violates check constraint "c"')]],
  ['a value of a wrong type', [statementError('22P02', `invalid syntax for bigint: "${SECRET}"`)]],
  ['a row that was not found', [new EntityNotFoundError('Bed', { where: { name: SECRET } })]],
  ['such a value in French', [statementError('22P02', `syntaxe invalide : « ${SECRET}`)]],
])('the line of %s has no secret', (_, logged) => {
  const { logger, lines } = recorded('info');
  logger.error(...(logged as [unknown]));
  expect(lines).toHaveLength(1);
  expect(JSON.stringify(lines)).not.toContain(SECRET);
});

it('an error is logged with its kind, message, code, stack, statement and causes', () => {
  const { logger, lines } = recorded('info');
  const error = statementError('23514', 'violates check constraint "c"');
  logger.error(new Error('It failed', { cause: error }));
  const err = {
    type: 'Error',
    message: expect.stringMatching(/^It failed: .*violates check constraint "c"$/),
    code: '23514',
    query: 'INSERT INTO t VALUES ($1)',
    stack: expect.stringMatching(/pino-logger.spec[^]*\ncaused by: [^]*pino-logger.spec/),
  };
  expect(lines).toEqual([expect.objectContaining({ err })]);
});

it.each<[string, unknown[], object]>([
  ['a thrown string', [{ err: 'text' }], { err: { message: 'text' }, msg: 'text' }],
  ['a list', [['a', 'b']], { msg: "[ 'a', 'b' ]" }],
  ['null', [null], { msg: 'null' }],
  ['a date', [new Date(0)], { msg: '1970-01-01T00:00:00.000Z' }],
  ['an object without members', [{}], { msg: '{}' }],
  [
    'members that the line has itself',
    ['Too slow', { time: 7, level: 'high', msg: 'x', context: 'c', ms: 5 }, 'Name'],
    { context: 'Name', msg: 'Too slow x', time_: 7, level_: 'high', context_: 'c', ms: 5 },
  ],
])('%s is logged whole, with each name once', (_, logged, line) => {
  const { logger, lines, texts } = recorded('info');
  logger.log(...(logged as [unknown]));
  expect(lines).toEqual([{ level: 30, time: expect.any(Number), ...line }]);
  const names = [...(texts[0] ?? '').matchAll(/[{,]"(\w+)":/g)].map(([, name]) => name);
  expect(names).toEqual([...new Set(names)]);
});
