import { write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const STANDARD_OUTPUT = 1;
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

/**
 * Writes lines to standard output in batches, since a system call for each would cost more than the
 * request. If nobody reads the output or it cannot be written, lines are lost, but the program
 * continues.
 */
export class LogWriter {
  private readonly lines: string[] = [];
  /** The number of characters in `lines` and in the text that is being written. */
  private buffered = 0;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private isWritePending = false;

  write(line: string): void {
    if (this.buffered + line.length > MAX_BUFFERED) return;
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

  private startWriting(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing ??= this.writeAll().finally(() => (this.writing = undefined));
  }

  private async writeAll(): Promise<void> {
    while (this.lines.length > 0) {
      const text = this.lines.splice(0).join('');
      let bytes = Buffer.from(text);
      while (bytes.length > 0) {
        this.isWritePending = true;
        const written = await writeSome(bytes);
        this.isWritePending = false;
        if (written === 0) await sleep(RETRY_DELAY_MS);
        bytes = bytes.subarray(written);
      }
      this.buffered -= text.length;
    }
  }
}

/**
 * Resolves with the number of bytes done: 0 to retry (EAGAIN), all of them after a permanent error,
 * which drops them.
 */
function writeSome(bytes: Buffer): Promise<number> {
  return new Promise((resolve) => {
    write(STANDARD_OUTPUT, bytes, (error, written) => {
      if (error === null) resolve(written);
      else resolve(error.code === 'EAGAIN' ? 0 : bytes.length);
    });
  });
}
