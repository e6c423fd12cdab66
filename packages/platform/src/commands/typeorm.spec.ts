import { afterAll, afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The arguments with which TypeORM's command line was started, if it was. */
let received: string[] | undefined;

jest.unstable_mockModule('typeorm/cli.js', () => {
  received = process.argv.slice(2);
  return {};
});

const { argv, env } = process;
const folder = mkdtempSync(join(tmpdir(), 'data-source-'));
const file = join(folder, 'ormconfig.mjs');
/** A data source without a cache, which cannot be opened. */
writeFileSync(file, 'export default { options: {} };');
let printed: unknown[];

afterAll(() => rmSync(folder, { recursive: true }));

beforeEach(() => {
  jest.resetModules();
  received = undefined;
  printed = [];
  for (const method of ['log', 'error'] as const) {
    jest.spyOn(console, method).mockImplementation((line) => void printed.push(line));
  }
});

afterEach(() => {
  jest.restoreAllMocks();
  Object.assign(process, { argv, env, exitCode: undefined });
});

async function run(command: string): Promise<void> {
  const { runTypeorm } = await import('./typeorm.js');
  process.argv = ['node', 'typeorm.mjs', ...command.split(' ')];
  await runTypeorm(file);
}

describe('runTypeorm()', () => {
  it.each([
    'migration:run',
    'migration:revert',
    'migration:show',
    'migration:generate src/beds --pretty',
    'schema:log',
    'query SELECT',
  ])('should add the data source to %s', async (command) => {
    await run(command);
    expect(received).toEqual([...command.split(' '), '-d', file]);
    expect(process.exitCode).toBeUndefined();
  });

  it.each([
    'migration:create src/empty',
    'entity:create src/fern',
    'subscriber:create src/ferns',
    'version',
    'nonsense',
  ])('should pass on %s, which uses no store', async (command) => {
    await run(command);
    expect(received).toEqual(command.split(' '));
  });

  it('should refuse init', async () => {
    await run('init');
    expect(printed).toEqual([expect.stringContaining('would replace the files of this project')]);
    expect([received, process.exitCode]).toEqual([undefined, 1]);
  });

  it.each(['schema:drop', 'schema:sync'])('should refuse %s in production', async (command) => {
    process.env = { ...env, NODE_ENV: 'production' };
    await run(`${command} --yes`);
    expect(printed).toEqual([expect.stringContaining(`${command} is refused in production`)]);
    expect([received, process.exitCode]).toEqual([undefined, 1]);
  });

  it('should answer cache:clear itself if there is no cache', async () => {
    await run('cache:clear');
    expect(printed).toEqual(['The data source has no cache']);
    expect([received, process.exitCode]).toEqual([undefined, undefined]);
  });
});
