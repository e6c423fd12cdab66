import { expect, it, jest } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

// A busy machine may take long to start a program.
jest.setTimeout(300_000);

const MIB = 1024 * 1024;
const LINES = 2_500;
const LINE_LENGTH = 10_000;

const LOGGER = new URL('../../dist/observability/pino-logger.js', import.meta.url).href;

/** Logs 24 MiB at once; when it is asked, waits until they are written, and logs once more. */
const program = (first: string): string => `
  ${first}
  import { PinoLogger } from '${LOGGER}';
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

/** Logs to a disk that is full in the middle of a line, and has space again later. */
const ON_FULL_DISK = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  import { promisify } from 'node:util';
  const write = promisify(fs.write);
  const results = [];
  fs.write = () => undefined;
  fs.write[promisify.custom] = async (fd, bytes) => {
    const result = results.shift() ?? 'all';
    if (result === 'full') throw Object.assign(new Error('No space'), { code: 'ENOSPC' });
    return await write(fd, result === 'all' ? bytes : bytes.subarray(0, bytes.length / 2));
  };
  syncBuiltinESMExports();
  const { PinoLogger } = await import('${LOGGER}');
  const logger = new PinoLogger('info');
  async function log(...messages) {
    for (const message of messages) logger.log(message);
    await logger.flush();
  }
  await log('one');
  results.push('half', 'full');
  await log('two', 'three-that-is-torn', 'four');
  results.push('full');
  await log('five');
  await log('six');
  await log('seven');`;

it('a line that a full disk has torn ends before the next one, and the lost lines are counted', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', ON_FULL_DISK]);
  const lines = (await text(child.stdout)).trimEnd().split('\n');
  const torn = lines.filter((line) => !line.endsWith('}'));
  expect(torn).toEqual([expect.stringMatching(/^{"level":30/)]);
  const whole = lines.filter((line) => !torn.includes(line));
  const messages = whole.map((line) => (JSON.parse(line) as { msg: string }).msg);
  const report = '3 log lines were lost: the output was not read, or failed';
  expect(messages).toEqual(['one', 'two', 'six', report, 'seven']);
});

it('the lines that are buffered when the process exits are written', async () => {
  const exiting = `
    import { PinoLogger } from '${LOGGER}';
    const logger = new PinoLogger('info');
    process.once('exit', () => logger.flushOnExit());
    logger.error('The package is missing');
    process.exit(1);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', exiting]);
  expect(JSON.parse(await text(child.stdout))).toMatchObject({ msg: 'The package is missing' });
});
