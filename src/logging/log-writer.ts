import { write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const STANDARD_OUTPUT = 1;
/** Lines are written once they have this many bytes together, or this many milliseconds after the first. */
const FLUSH_BYTES = 16_384;
const FLUSH_DELAY_MS = 100;
/** The most bytes that are buffered for a slow reader; lines beyond them are lost. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
/** How long a flush waits at most, in milliseconds. */
const SHUTDOWN_FLUSH_MS = 1_000;
/** How long to wait before writing again where a pipe is full, in milliseconds. */
const RETRY_DELAY_MS = 10;

/**
 * Writes lines to standard output in batches, since a system call for each would cost more than the
 * request. Where the output is not read or cannot be written, lines are lost and nothing else.
 */
export class LogWriter {
  private lines: Buffer[] = [];
  private size = 0;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private isWriteUnderWay = false;

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.size + bytes.length > MAX_BUFFERED_BYTES) return;
    this.lines.push(bytes);
    this.size += bytes.length;
    if (this.size >= FLUSH_BYTES) this.startWriting();
    else this.timer ??= setTimeout(() => this.startWriting(), FLUSH_DELAY_MS).unref();
  }

  /**
   * Resolves when all is written, or cannot be in time: with false if a write hangs, for which
   * Node's exit would wait.
   */
  async flush(): Promise<boolean> {
    this.startWriting();
    await Promise.race([this.writing, sleep(SHUTDOWN_FLUSH_MS, undefined, { ref: false })]);
    return !this.isWriteUnderWay;
  }

  private startWriting(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing ??= this.writeAll().finally(() => (this.writing = undefined));
  }

  private async writeAll(): Promise<void> {
    while (this.lines.length > 0) {
      let bytes = Buffer.concat(this.lines.splice(0));
      while (bytes.length > 0) {
        this.isWriteUnderWay = true;
        const written = await writeSome(bytes);
        this.isWriteUnderWay = false;
        if (written === 0) await sleep(RETRY_DELAY_MS);
        bytes = bytes.subarray(written);
        this.size -= written;
      }
    }
  }
}

/** Resolves with how many of the bytes need not be written again: all of them after a lasting error. */
function writeSome(bytes: Buffer): Promise<number> {
  return new Promise((resolve) => {
    write(STANDARD_OUTPUT, bytes, (error, written) => {
      if (error === null) resolve(written);
      else resolve(error.code === 'EAGAIN' ? 0 : bytes.length);
    });
  });
}
