import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';

/** What pino's destination is in the content mode `buffer`; its type knows only text. */
interface Destination {
  write(line: Buffer): boolean;
  flushSync(): void;
}

/** The parts of Nest that tell of every module and route at start. */
const FRAMEWORK = new Set<unknown>([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/** What the log tells of a request; never its body, its token or its query. */
export interface RequestFields {
  readonly requestId: string;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly status?: number | undefined;
  readonly ms?: number | undefined;
}

/** Writes what the program logs through Nest's `Logger` as JSON lines on standard output. */
export class PinoLogger implements LoggerService {
  // Lines are written some at a time: one system call a line would cost more than the request.
  private readonly destination = pino.destination({
    dest: 1,
    sync: false,
    minLength: 4_096,
    periodicFlush: 100,
    contentMode: 'buffer',
  }) as unknown as Destination;
  private readonly pino: Logger;

  /** @param level the least severe lines to write: `fatal` to `trace`, or `silent` */
  constructor(level: string) {
    // Text would be measured anew, all that waits to be written, with every line.
    const write = (line: string): boolean => this.destination.write(Buffer.from(line));
    this.pino = pino({ level, base: null }, { write });
  }

  /** One line for one request. */
  request(level: 'info' | 'debug', fields: RequestFields): void {
    this.pino[level](fields);
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

  /** Writes out what is still in memory. */
  flush(): void {
    this.destination.flushSync();
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
