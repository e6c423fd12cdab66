import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';
import type { TraceFields } from './trace-context.js';
import { LogWriter } from './log-writer.js';

/** The names of Nest's loggers, which list every module and route at start. */
const FRAMEWORK = new Set<unknown>([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/** The origin of a request, as far as it is known. */
export interface RequestOrigin extends Partial<TraceFields> {
  readonly clientAddress?: string;
}

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

/** The fields of the log line of a request; never its body, its token or its query. */
export interface RequestFields extends RequestOrigin, Caller {
  readonly requestId: string;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly status?: number | undefined;
  readonly error?: number | undefined;
  readonly ms?: number | undefined;
  /** Whether the connection closed before all of the answer was sent. */
  readonly incomplete?: boolean | undefined;
  /** A summary such as `POST /plants 200`. */
  readonly msg: string;
}

/** Writes the lines of Nest's `Logger` as JSON to standard output. */
export class PinoLogger implements LoggerService {
  private readonly writer = new LogWriter();
  private readonly pino: Logger;

  /** @param level the least severe lines to write: `fatal` to `trace`, or `silent` */
  constructor(level: string) {
    this.pino = pino({ level, base: null, serializers: { err: serializeError } }, this.writer);
  }

  /** Writes the line of a request as pino would, in less time. */
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

  /** Writes the buffered lines within a second; see {@link LogWriter.flush}. */
  flush(): Promise<boolean> {
    return this.writer.flush();
  }

  /** Nest passes the name of the logger last. */
  private write(level: pino.Level, message: unknown, rest: unknown[]): void {
    const context = rest.at(-1);
    this.pino[level](
      { context, ...(message instanceof Error ? { err: message } : toFields(message)) },
      typeof message === 'string' ? message : undefined,
    );
  }
}

/** Leaves out the values of a failed statement, which may be personal data. */
function serializeError(error: Error): object {
  return { ...pino.stdSerializers.err(error), parameters: undefined };
}

function toFields(message: unknown): object {
  return typeof message === 'object' && message !== null ? message : {};
}
