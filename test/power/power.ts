import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { Choices } from '../fuzz/choices.js';
import { cutPower, type Recorded } from './power-cut.js';
import { type Circumstances, Recording } from './recording.js';

// npm run test:power -- --moments 500 --seed 1
//
// Records the program's system calls under load, and cuts the power at random moments: what a disk
// could hold then must be a sound store with every plant that was acknowledged.

interface Scene {
  readonly name: string;
  readonly circumstances: Circumstances;
  /** How many plants each run of the program gets, and how it ends. */
  readonly runs: readonly [plants: number, end: 'SIGTERM' | 'SIGKILL'][];
  readonly moments: number;
  /** Whether plants must be lost, which shows that it would be seen. */
  readonly mustLose?: boolean;
}

const { values } = parseArgs({
  options: {
    moments: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) },
    /** What an earlier test has kept, to look at again instead. */
    recorded: { type: 'string' },
  },
});
const moments = Number(values.moments);

const SCENES: readonly Scene[] = [
  {
    name: 'under load',
    // In microseconds: most kills come during a flush.
    circumstances: { connections: 64, strace: ['--inject=fsync,fdatasync:delay_exit=10000'] },
    runs: [
      [1_500, 'SIGKILL'],
      [2_000, 'SIGTERM'],
      [300, 'SIGKILL'],
      [300, 'SIGTERM'],
    ],
    moments,
  },
  {
    name: 'while one flush in five fails',
    // strace counts the flushes of each thread, and a start must succeed.
    circumstances: { connections: 8, strace: ['--inject=fsync,fdatasync:error=EIO:when=15+5'] },
    runs: [[1_000, 'SIGTERM']],
    moments: Math.ceil(moments / 5),
  },
  {
    name: 'with synchronous=NORMAL, where plants must be lost',
    circumstances: { connections: 64, isNormal: true },
    runs: [[500, 'SIGTERM']],
    moments: Math.ceil(moments / 10),
    mustLose: true,
  },
];

console.log(`seed ${values.seed}`);
if (values.recorded !== undefined) {
  const recorded = deserialize(readFileSync(values.recorded)) as Recorded;
  report(await inNewFolder((folder) => cut(recorded, moments, folder)), false);
} else if (spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0) {
  for (const scene of SCENES) await inNewFolder((folder) => play(scene, folder));
} else {
  console.log('strace is not here or may not trace: what a loss of power leaves is untested');
}

async function inNewFolder<T>(act: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-power-'));
  return await act(folder).finally(() => rmSync(folder, { recursive: true }));
}

async function play({ name, circumstances, runs, ...scene }: Scene, folder: string): Promise<void> {
  const { mustLose = false } = scene;
  const recording = new Recording(folder, circumstances);
  for (const [plants, end] of runs) await recording.run(plants, end);
  console.log(`${name}: ${summary(recording)}`);
  const faults = await cut(recording, scene.moments, folder);
  report(faults, mustLose);
  if (mustLose || faults.length === 0) return;
  const file = join(tmpdir(), `plant-store-power-${process.pid}`);
  writeFileSync(file, serialize({ folder: recording.folder, steps: recording.steps }));
  console.error(`To look again: npm run test:power -- --recorded ${file} --seed ${values.seed}`);
}

function cut(recorded: Recorded, count: number, folder: string): Promise<string[]> {
  return cutPower(recorded, count, new Choices(Number(values.seed)), join(folder, 'left'));
}

function summary({ steps, plants }: Recording): string {
  const answers = (code: number): number =>
    steps.filter((step) => step.kind === 'answer' && step.code === code).length;
  const flushes = steps.flatMap((step) => (step.kind === 'flush' ? [basename(step.path)] : []));
  const checkpoints = flushes.filter((name) => name === 'plants.db').length;
  return (
    `${plants} plants, answers ${answers(200)} x 200, ${answers(40_901)} x 40901, ` +
    `${answers(50_300)} x 50300, ${flushes.length} flushes, ${checkpoints} of them of checkpoints`
  );
}

function report(faults: readonly string[], mustLose: boolean): void {
  console.log(`  ${faults.length} faults`);
  if (mustLose === faults.length > 0) return;
  for (const fault of faults.slice(0, 10)) console.error(`  FAILED: ${fault}`);
  process.exitCode = 1;
}
