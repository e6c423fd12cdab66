import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SeededRandom } from '../../support/seeded-random.js';
import { inNewFolder } from '../../support/new-folder.js';
import { parseNumber, type Proof, SEED } from '../proof.js';
import { PowerCuts } from './power-cut.js';
import { type Circumstances, Recording } from './recording.js';

// Records the system calls of the program under load, and simulates power cuts at random moments.
// Every possible content of the disk must be a sound store with all acknowledged plants.

interface Scene extends Circumstances {
  readonly name: string;
  /** The number of plants in each run of the program, and the signal that ends it. */
  readonly runs: readonly [plants: number, end: 'SIGTERM' | 'SIGKILL'][];
  /** Its share of the moments of each run. */
  readonly share: number;
}

const SCENES: readonly Scene[] = [
  {
    name: 'under load',
    connections: 64,
    // In microseconds: most kills happen during a flush.
    strace: ['--inject=fsync,fdatasync:delay_exit=10000'],
    runs: [
      [1_500, 'SIGKILL'],
      [2_000, 'SIGTERM'],
      [300, 'SIGKILL'],
      [300, 'SIGTERM'],
    ],
    share: 1 / 4,
  },
  {
    name: 'while one flush in five fails',
    connections: 8,
    // strace counts the flushes of each thread, and a start must succeed.
    strace: ['--inject=fsync,fdatasync:error=EIO:when=15+5'],
    runs: [[1_000, 'SIGTERM']],
    share: 1 / 5,
  },
  {
    // This shows that the proof detects losses.
    name: 'with synchronous=NORMAL, where plants must be lost',
    connections: 64,
    isNormal: true,
    runs: [[500, 'SIGTERM']],
    share: 1 / 10,
  },
];

const OPTIONS = { moments: { type: 'string', default: '500' }, ...SEED } as const;

/** Cuts the power under load, and finds every acknowledged plant on each possible disk. */
export default (async (args) => {
  const { values } = parseArgs({ args, options: OPTIONS });
  const seed = parseNumber(values.seed);
  console.log(`seed ${seed}`);
  if (spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status !== 0) {
    return ['strace is not installed, or may not trace'];
  }
  const faults: string[] = [];
  for (const scene of SCENES) {
    const moments = Math.ceil(parseNumber(values.moments) * scene.share);
    faults.push(...(await inNewFolder((folder) => play(scene, moments, seed, folder))));
  }
  return faults;
}) satisfies Proof;

async function play(
  { name, runs, ...circumstances }: Scene,
  moments: number,
  seed: number,
  folder: string,
): Promise<string[]> {
  const recording = new Recording(folder, circumstances);
  const cuts = new PowerCuts(recording.folder, join(folder, 'left'), new SeededRandom(seed));
  for (const [plants, end] of runs) await cuts.replay(await recording.run(plants, end), moments);
  const { steps, faults } = cuts;
  console.log(`${name}: ${recording.plants} plants, ${steps} steps, ${faults.length} faults`);
  if (!circumstances.isNormal) return faults;
  return faults.some((fault) => fault.includes('lost')) ? [] : [`${name}: no plant is lost`];
}
