import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SeededRandom } from '../../support/seeded-random.js';
import { inNewFolder } from '../../support/new-folder.js';
import { parseNumber, type Proof, SEED } from '../proof.js';
import { cutPower } from './power-cut.js';
import { type Circumstances, Recording } from './recording.js';

// Records the system calls of the program under load, and simulates power cuts at random moments.
// Every possible content of the disk must be a sound store with all acknowledged plants.

interface Scene extends Circumstances {
  readonly name: string;
  /** The number of plants in each run of the program, and the signal that ends it. */
  readonly runs: readonly [plants: number, end: 'SIGTERM' | 'SIGKILL'][];
  readonly moments: number;
}

function makeScenes(moments: number): readonly Scene[] {
  return [
    {
      name: 'under load',
      // In microseconds: most kills happen during a flush.
      connections: 64,
      strace: ['--inject=fsync,fdatasync:delay_exit=10000'],
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
      connections: 8,
      strace: ['--inject=fsync,fdatasync:error=EIO:when=15+5'],
      runs: [[1_000, 'SIGTERM']],
      moments: Math.ceil(moments / 5),
    },
    {
      // This shows that the proof detects losses.
      name: 'with synchronous=NORMAL, where plants must be lost',
      connections: 64,
      isNormal: true,
      runs: [[500, 'SIGTERM']],
      moments: Math.ceil(moments / 10),
    },
  ];
}

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
  for (const scene of makeScenes(parseNumber(values.moments))) {
    faults.push(...(await inNewFolder((folder) => play(scene, seed, folder))));
  }
  return faults;
}) satisfies Proof;

async function play(scene: Scene, seed: number, folder: string): Promise<string[]> {
  const recording = new Recording(folder, scene);
  for (const [plants, end] of scene.runs) await recording.run(plants, end);
  const { plants, steps } = recording;
  console.log(`${scene.name}: ${plants} plants, ${steps.length} steps`);
  const left = join(folder, 'left');
  const faults = await cutPower(recording, scene.moments, new SeededRandom(seed), left);
  console.log(`  ${faults.length} faults`);
  if (scene.isNormal) return faults.length > 0 ? [] : [`${scene.name}: no plant is lost`];
  return faults;
}
