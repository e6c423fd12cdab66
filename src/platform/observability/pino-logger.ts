import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';
import type { TraceFields } from './trace-context.js';
import { LogWriter } from './log-writer.js';

/** The loggers of Nest that list every module and route at start. */
const FRAMEWORK = new Set<unknown>([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/** Where a request comes from, as far as it is known. */
export interface RequestOrigin extends Partial<TraceFields> {
  readonly clientAddress?: string;
}

/** Who sends a request, as far as its token says. */
export interface Caller {
  /** The name of a configured token, or the client of a JWT. */
  readonly client?: string | undefined;
  /** The subject of a JWT. */
  readonly sub?: string | undefined;
}

/** What is kept of a request for its log line, in `response.locals`. */
export interface RequestLocals {
  requestId: string;
  /** Undefined where it has no good token, or one without a name. */
  caller?: Caller | undefined;
  /** The code that it was answered with, or that broke its answer off. */
  error?: number | undefined;
}

/** What is logged of a request; never its body, its token or its query. */
export interface RequestFields extends RequestOrigin, Caller {
  readonly requestId: string;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly status?: number | undefined;
  readonly error?: number | undefined;
  readonly ms?: number | undefined;
  /** Whether the connection closed before all of the answer was sent. */
  readonly incomplete?: boolean | undefined;
  /** What readers of the log see first, such as `POST /plants 200`. */
  readonly msg: string;
}

/** Writes what the program logs through Nest's `Logger` as JSON lines on standard output. */
export class PinoLogger implements LoggerService {
  private readonly writer = new LogWriter();
  private readonly pino: Logger;

  /** @param level the least severe lines to write: `fatal` to `trace`, or `silent` */
  constructor(level: string) {
    this.pino = pino({ level, base: null }, this.writer);
  }

  /** One line for one request, as pino writes it, in less time. */
  request(level: 'info' | 'debug', fields: RequestFields): void {
    if (!this.pino.isLevelEnabled(level)) return;
    const start = `{"level":${pino.levels.values[level]},"time":${Date.now()},`;
    this.writer.write(`${start}${JSON.stringify(fields).slice(1)}\n`);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write(FRAMEWORK.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  /** Writes out what is still in memory, if that can be done in a second; see `LogWriter`. */
  flush(): Promise<boolean> {
    return this.writer.flush();
  }

  /** Nest passes the name of the logger last. */
  private write(level: pino.Level, message: unknown, rest: unknown[]): void {
    const context = rest.at(-1);
    this.pino[level](
      { context, ...(message instanceof Error ? { err: message } : asFields(message)) },
      typeof message === 'string' ? message : undefined,
    );
  }
}

function asFields(message: unknown): object {
  return typeof message === 'object' && message !== null ? message : {};
}
