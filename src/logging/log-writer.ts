import { write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const STANDARD_OUTPUT = 1;
/** Lines are written once they have this many bytes together, or this many milliseconds after the first. */
const FLUSH_BYTES = 4_096;
const FLUSH_DELAY_MS = 100;
/** The most bytes that wait for a slow reader; what comes beyond them is lost. */
const MAX_WAITING = 16 * 1024 * 1024;
/** How long the end waits for what is still to be written, in milliseconds. */
const SHUTDOWN_FLUSH_MS = 1_000;
/** How long a reader that takes nothing now is given, in milliseconds. */
const PAUSE = 10;

/**
 * Writes lines to standard output, some at a time, since a system call a line would cost more than
 * the request. A log that nobody reads, or that cannot be written, costs lines and nothing else.
 */
export class LogWriter {
  private lines: Buffer[] = [];
  private size = 0;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private isWriteUnderWay = false;

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.size + bytes.length > MAX_WAITING) return;
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
        if (written === 0) await sleep(PAUSE);
        bytes = bytes.subarray(written);
        this.size -= written;
      }
    }
  }
}

/** Resolves with how many of the bytes are done with: what can never be written is. */
function writeSome(bytes: Buffer): Promise<number> {
  return new Promise((resolve) => {
    write(STANDARD_OUTPUT, bytes, (error, written) => {
      if (error === null) resolve(written);
      else resolve(error.code === 'EAGAIN' ? 0 : bytes.length);
    });
  });
}
