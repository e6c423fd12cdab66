import { write, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

export const STANDARD_OUTPUT = 1;
const LINE_FEED = 0x0a;
/**
 * Lines are written once they have this many characters in all, or this long after the first one.
 */
const FLUSH_LENGTH = 16_384;
const FLUSH_DELAY_MS = 100;
/** How many characters are buffered for a slow reader; lines beyond them are lost. */
const MAX_BUFFERED = 16 * 1024 * 1024;
/** How long a flush waits at most, in milliseconds. */
const SHUTDOWN_FLUSH_MS = 1_000;
/** How long to wait before the next attempt if a pipe is full, in milliseconds. */
const RETRY_DELAY_MS = 10;
const writeSome = promisify(write);
/** The level of a warning in pino. */
const WARN_LEVEL = 40;

/**
 * Writes lines to standard output in batches, since a system call for each would cost more than the
 * request. If the output is not read or cannot be written, lines are lost, the program continues,
 * and the log says how many were lost.
 */
export class LogWriter {
  private readonly lines: string[] = [];
  /** The number of characters in `lines` and in the text that is being written. */
  private buffered = 0;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private isWritePending = false;
  /** The number of lines that were lost since the log last said how many. */
  private lost = 0;
  /** Whether a failed write has left the start of a line in the output. */
  private isTorn = false;

  /** @param format converts whole lines before they are written */
  constructor(private readonly format = (lines: string): string => lines) {}

  write(line: string): void {
    if (this.buffered + line.length > MAX_BUFFERED) {
      this.lost++;
      return;
    }
    this.lines.push(line);
    this.buffered += line.length;
    if (this.buffered >= FLUSH_LENGTH) this.startWriting();
    else this.timer ??= setTimeout(() => this.startWriting(), FLUSH_DELAY_MS).unref();
  }

  /**
   * Resolves when all lines are written, or after {@link SHUTDOWN_FLUSH_MS}: with false if a write
   * hangs, since Node's exit would wait for it.
   */
  async flush(): Promise<boolean> {
    this.startWriting();
    await Promise.race([this.writing, sleep(SHUTDOWN_FLUSH_MS, undefined, { ref: false })]);
    return !this.isWritePending;
  }

  /** Writes the buffered lines at once. A write that is pending ends first, since Node waits for it. */
  flushOnExit(): void {
    let rest = Buffer.from(this.format(this.lines.splice(0).join('')));
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(STANDARD_OUTPUT, rest));
    } catch {
      // The output is not read, or failed.
    }
  }

  private startWriting(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing ??= this.writeAll().finally(() => (this.writing = undefined));
  }

  private async writeAll(): Promise<void> {
    while (this.lines.length > 0) {
      const lines = this.lines.splice(0);
      const text = lines.join('');
      const { lost } = this;
      const report = describeLoss(lost);
      const bytes = Buffer.from((this.isTorn ? '\n' : '') + this.format(text + report));
      const rest = await this.writeBytes(bytes);
      const last = bytes[bytes.length - rest.length - 1];
      if (last !== undefined) this.isTorn = last !== LINE_FEED;
      if (rest.length === 0) this.lost -= lost;
      else this.lost += Math.min(lines.length, countLines(rest) - countLines(report));
      this.buffered -= text.length;
    }
  }

  /** Resolves with the bytes that are left after a permanent error. */
  private async writeBytes(bytes: Buffer): Promise<Buffer> {
    let rest = bytes;
    while (rest.length > 0) {
      this.isWritePending = true;
      const writing = writeSome(STANDARD_OUTPUT, rest).finally(() => {
        this.isWritePending = false;
      });
      try {
        rest = rest.subarray((await writing).bytesWritten);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') break;
        await sleep(RETRY_DELAY_MS);
      }
    }
    return rest;
  }
}

function countLines(text: string | Buffer): number {
  return text.toString().split('\n').length - 1;
}

function describeLoss(lost: number): string {
  if (lost === 0) return '';
  const msg = `${lost} log lines were lost: the output was not read, or failed`;
  return `${JSON.stringify({ level: WARN_LEVEL, time: Date.now(), context: 'Log', msg })}\n`;
}
