import { expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

const MIB = 1024 * 1024;
const LINES = 2_500;
const LINE_LENGTH = 10_000;

/** Logs 24 MiB at once; when it is asked, waits until they are written, and logs once more. */
const program = (first: string): string => `
  ${first}
  import { PinoLogger } from '${new URL('../../../dist/platform/observability/pino-logger.js', import.meta.url).href}';
  const logger = new PinoLogger('info');
  for (let line = 0; line < ${LINES}; line++) logger.log('x'.repeat(${LINE_LENGTH}));
  process.stderr.write('logged');
  async function flush() {
    // Each waits for a second at most.
    for (let count = 0; count < 100; count++) await logger.flush();
  }
  process.stdin.once('data', async () => {
    await flush();
    logger.log('y'.repeat(${LINE_LENGTH}));
    await flush();
    process.exit();
  });`;

// Reading process.stdout makes a pipe non-blocking.
it.each([
  ['waits', ''],
  ['refuses', 'process.stdout;'],
])(
  'a log that %s keeps 16 MiB in memory, and says later how many lines were lost',
  async (_, first) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program(first)]);
    await once(child.stderr, 'data');
    const log = text(child.stdout);
    child.stdin.write('go on');
    const lines = (await log).trimEnd().split('\n');
    const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages.pop()?.startsWith('y')).toBe(true);
    const lost = LINES - (messages.length - 1);
    expect(messages.pop()).toBe(`${lost} log lines were lost: the output was not read, or failed`);
    expect(messages.every((message) => message.length === LINE_LENGTH)).toBe(true);
    expect(messages.length * LINE_LENGTH).toBeGreaterThan(15 * MIB);
    expect(messages.length * LINE_LENGTH).toBeLessThan(16 * MIB);
  },
);
