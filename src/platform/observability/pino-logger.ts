import { Global, type LoggerService, Module } from '@nestjs/common';
import { format } from 'node:util';
import { type Logger, pino } from 'pino';
import { Env } from '../config/env.js';
import { LogWriter } from './log-writer.js';

/** The names of Nest's loggers, which list every module and route at start. */
const FRAMEWORK = new Set<unknown>([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/** The sender of a request, as far as its token names it. */
export interface Caller {
  /** The name of a configured token, or the client of a JWT. */
  readonly client?: string | undefined;
  /** The subject of a JWT. */
  readonly sub?: string | undefined;
}

/** The data for the log line of a request, in `response.locals`. */
export interface RequestLocals {
  requestId: string;
  /** Undefined for a request without a valid token, or with a token without a name. */
  caller?: Caller | undefined;
  /** The code of the error that was answered, or that aborted the answer. */
  error?: number | undefined;
}

/** Writes the lines of Nest's `Logger` as JSON to standard output. */
export class PinoLogger implements LoggerService {
  private readonly writer = new LogWriter();
  private readonly pino: Logger;

  /** @param level the least severe lines to write: `fatal` to `trace`, or `silent` */
  constructor(level: string) {
    this.pino = pino({ level, base: null, serializers: { err: serializeError } }, this.writer);
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
  readonly error = this.createMethod('error');
  readonly warn = this.createMethod('warn');
  readonly debug = this.createMethod('debug');
  readonly verbose = this.createMethod('trace');

  log(message: unknown, ...rest: unknown[]): void {
    this.write(FRAMEWORK.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  /** Writes the buffered lines within a second; see {@link LogWriter.flush}. */
  flush(): Promise<boolean> {
    return this.writer.flush();
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
      if (value instanceof Error) fields.err = value;
      else if (isStack(value)) fields.err ??= { stack: value };
      else if (typeof value === 'object') Object.assign(fields, value);
      else if (value !== undefined) texts.push(format(value));
    }
    this.pino[level](fields, texts.length === 0 ? undefined : texts.join(' '));
  }
}

/** Leaves out the values of a failed statement, which may be personal data. */
function serializeError(error: Error): object {
  return { ...pino.stdSerializers.err(error), parameters: undefined };
}

/** Whether a value is the `stack` of an error, as in `logger.error('The job failed', error.stack)`. */
function isStack(value: unknown): boolean {
  return typeof value === 'string' && /\n\s+at /.test(value);
}

@Global()
@Module({
  providers: [
    { provide: PinoLogger, useFactory: (env: Env) => new PinoLogger(env.LOG_LEVEL), inject: [Env] },
  ],
  exports: [PinoLogger],
})
export class LoggingModule {}
