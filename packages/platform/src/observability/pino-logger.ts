import { Global, type LoggerService, Module } from '@nestjs/common';
import { isatty } from 'node:tty';
import { format } from 'node:util';
import { type Logger, pino } from 'pino';
import { Env } from '../config/env.js';
import { describeError, describeErrors } from './describe-error.js';
import { formatForPeople } from './format-for-people.js';
import { LogWriter, STANDARD_OUTPUT } from './log-writer.js';

/** The names of Nest's loggers, which list every module and route at start. */
const FRAMEWORK = new Set<unknown>([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/**
 * The name of Nest's logger for the error that ends a start. The code that starts the program gets
 * it.
 */
const START_FAILURE = 'ExceptionHandler';

/**
 * Writes the lines of Nest's `Logger` to standard output: as JSON, or as text for a person at a
 * terminal.
 */
export class PinoLogger implements LoggerService {
  private readonly writer: LogWriter;
  private readonly pino: Logger;

  /** @param level the least severe lines to write: `fatal` to `trace`, or `silent` */
  constructor(
    level: string,
    readonly isForPeople = false,
  ) {
    this.writer = new LogWriter(isForPeople ? formatForPeople : undefined);
    // The errors are described before pino gets them.
    const serializers = { err: (described: object) => described };
    this.pino = pino({ level, base: null, serializers }, this.writer);
  }

  /**
   * Writes the line of a request.
   *
   * @param fields never the body, the token or the query of the request
   */
  request(level: 'info' | 'debug', fields: object): void {
    this.pino[level](fields);
  }

  readonly fatal = this.createMethod('fatal');
  readonly warn = this.createMethod('warn');
  readonly debug = this.createMethod('debug');
  readonly verbose = this.createMethod('trace');

  log(message: unknown, ...rest: unknown[]): void {
    this.write(FRAMEWORK.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write(rest.at(-1) === START_FAILURE ? 'debug' : 'error', message, rest);
  }

  /** Writes the buffered lines within a second; see {@link LogWriter.flush}. */
  flush(): Promise<boolean> {
    return this.writer.flush();
  }

  /** Writes the buffered lines at once, before the process exits. */
  flushOnExit(): void {
    this.writer.flushOnExit();
  }

  private createMethod(level: pino.Level): (message: unknown, ...rest: unknown[]) => void {
    return (message, ...rest) => this.write(level, message, rest);
  }

  /**
   * @param rest what Nest's `Logger` passes on: texts, objects, an error or its stack, and last the
   *   name of the logger
   */
  private write(level: pino.Level, message: unknown, rest: unknown[]): void {
    const last = rest.at(-1);
    const context = typeof last === 'string' && !isStack(last) ? rest.pop() : undefined;
    const fields: Record<string, unknown> = { context };
    const texts: string[] = [];
    for (const value of [message, ...rest]) {
      if (value instanceof Error) fields.err = describeError(value);
      else if (isStack(value)) fields.err ??= { stack: value };
      else if (hasMembers(value)) addMembers(value, fields, texts);
      else if (value !== undefined) texts.push(format(describeErrors(value)));
    }
    this.pino[level](fields, texts.length === 0 ? undefined : texts.join(' '));
  }
}

/** The members of a line that pino writes itself, or that name the logger. */
const TAKEN = new Set(['context', 'level', 'time']);

/** Whether the members of a value become members of the line. Arrays, dates and maps become text. */
function hasMembers(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return !Array.isArray(value) && !ArrayBuffer.isView(value) && Object.keys(value).length > 0;
}

/** Adds the members of a logged object to the line, which has no name twice. */
function addMembers(value: object, fields: Record<string, unknown>, texts: string[]): void {
  for (const [name, member] of Object.entries(value)) {
    if (name === 'msg') texts.push(format(describeErrors(member)));
    else if (name === 'err') fields.err = describeError(member);
    else fields[TAKEN.has(name) ? `${name}_` : name] = describeErrors(member);
  }
}

/** Whether a value is the `stack` of an error, as in `logger.error('The job failed', error.stack)`. */
function isStack(value: unknown): boolean {
  return typeof value === 'string' && /\n\s+at /.test(value);
}

@Global()
@Module({
  providers: [
    {
      provide: PinoLogger,
      useFactory: ({ LOG_LEVEL, NODE_ENV }: Env) =>
        new PinoLogger(LOG_LEVEL, isatty(STANDARD_OUTPUT) && NODE_ENV !== 'production'),
      inject: [Env],
    },
  ],
  exports: [PinoLogger],
})
export class LoggingModule {}
