import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ACCESS_TOKENS } from '../fuzz/headers.js';
import { HttpClient } from '../fuzz/http-client.js';
import { createOf } from '../fuzz/requests.js';

// npm run test:flush: traces the program's system calls, and fails unless every plant was written
// to the store's log, and the log flushed to disk, before its answer was sent.

const PROGRAM = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const CALLS = 'trace=pwrite64,fsync,fdatasync,write,writev';
const CONNECTIONS = 16;
const CREATES = 400;

const { status } = spawnSync('strace', ['-f', '-o', '/dev/null', 'true'], { stdio: 'ignore' });
if (status === 0) await test();
else console.log('strace is not here or may not trace: the order of flush and answer is untested');

async function test(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-flush-'));
  try {
    const names = await createTraced(folder);
    const late = answeredTooEarly(names, readFileSync(join(folder, 'trace'), 'utf8'));
    console.log(`${names.length} creates, ${late.length} answered before they were on disk`);
    for (const name of late.slice(0, 10)) console.error(`FAILED: ${name}`);
    if (late.length > 0) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Creates plants while the program is traced, and resolves with their names. */
async function createTraced(folder: string): Promise<string[]> {
  const options = ['-f', '-y', '-s', '5000', '-e', CALLS, '-o', 'trace'];
  const child = spawn('strace', [...options, process.execPath, PROGRAM], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: '0', DATABASE_URL: 'sqlite:plants.db', ACCESS_TOKENS },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const exited = once(child, 'exit');
  const url = new Promise<URL>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      const address = /Listening on (\S+?),/.exec(line)?.[1];
      if (address !== undefined) resolve(new URL(address));
    });
    child.once('exit', () => reject(new Error('The program did not start')));
  });
  const names = await create(await url);
  // strace itself ignores the signal, and ends with the program.
  process.kill(-(child.pid ?? 0), 'SIGTERM');
  await exited;
  return names;
}

async function create(url: URL): Promise<string[]> {
  const names: string[] = [];
  const connection = async (): Promise<void> => {
    const client = new HttpClient(url);
    while (names.length < CREATES) {
      const name = `plant-${names.length}.`;
      names.push(name);
      const { status } = await client.send(createOf({ id: BigInt(names.length), name }).request);
      if (status !== 200) throw new Error(`answered ${status}`);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  return names;
}

/** The names that no flush of the log came between the writing of, and the answer to. */
function answeredTooEarly(names: readonly string[], trace: string): string[] {
  const lines = trace.split('\n');
  const flushes = flushesOf(lines);
  const writes = lines.map((line) => /pwrite64\(\d+<[^>]*plants\.db-wal>/.test(line));
  return names.filter((name) => {
    const written = lines.findIndex((line, index) => writes[index] && line.includes(name));
    const answered = lines.findIndex(
      (line) => line.includes('HTTP/1.1 200 OK') && line.includes(name),
    );
    return !flushes.some(({ begin, end }) => written !== -1 && begin > written && end < answered);
  });
}

/** The lines at which flushes of the log began and ended. */
function flushesOf(lines: readonly string[]): { begin: number; end: number }[] {
  const begun = new Map<string, number>();
  const flushes: { begin: number; end: number }[] = [];
  lines.forEach((line, index) => {
    const [thread = ''] = line.split(' ');
    if (/ f(data)?sync\(\d+<[^>]*plants\.db-wal>/.test(line)) begun.set(thread, index);
    const begin = begun.get(thread);
    if (begin !== undefined && / f(data)?sync(\(| resumed).* = 0$/.test(line)) {
      flushes.push({ begin, end: index });
      begun.delete(thread);
    }
  });
  return flushes;
}
