import type { Fuzzer } from '../../fuzz/fuzzer.js';
import type { Program } from '../../support/program.js';

/** Progress is printed after so many thousand requests. */
const PROGRESS_SAMPLES = 20;
/**
 * How many descriptors other than connections the service may open while it runs, mostly files of
 * its store.
 */
const FILES = 20;
/** How much its memory may grow beyond that at its start, in MiB. */
const MOST_MEMORY = 300;
/** How long the last connections may take to close, in milliseconds. */
const PATIENCE = 10_000;

interface Sample {
  readonly requests: number;
  /** In MiB. */
  readonly memory: number;
  readonly descriptors: number;
}

/** Reads the memory and the descriptors of the service after every thousand requests. */
export class Watch {
  readonly faults: string[] = [];
  private readonly started = performance.now();
  private readonly samples: Sample[] = [];

  private constructor(
    private readonly fuzzer: Fuzzer,
    private readonly program: Program,
    private readonly connections: number,
    private readonly first: Sample,
  ) {
    fuzzer.onThousand = () => void this.look();
  }

  /** @param connections how many there may be at a time */
  static async start(fuzzer: Fuzzer, program: Program, connections: number): Promise<Watch> {
    return new Watch(fuzzer, program, connections, await takeSample(fuzzer, program));
  }

  /** Checks that the descriptors of all clients are closed once they have disconnected. */
  async stop(): Promise<void> {
    this.fuzzer.onThousand = () => undefined;
    await this.look();
    this.print();
    const end = performance.now() + PATIENCE;
    const most = this.first.descriptors + FILES;
    while (this.program.openDescriptors() > most && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const left = this.program.openDescriptors();
    console.log(`descriptors at the start ${this.first.descriptors}, at the end ${left}`);
    if (left > most) this.faults.push(`${left} descriptors are left open`);
  }

  /**
   * A single reading tells little, since memory varies with the garbage collector. So the mean of
   * the second tenth of the requests is compared with the mean of the last tenth.
   *
   * @returns by how many percent it grew
   */
  printMemory(): number {
    const early = this.meanOf(0.1, 0.2);
    const late = this.meanOf(0.9, 1);
    const growth = (late / early - 1) * 100;
    if (Number.isNaN(growth)) {
      console.log('the run was too short to tell how memory grows');
      return 0;
    }
    console.log(`resident memory up to the first fifth ${mib(early)}, at the end ${mib(late)}`);
    console.log(`growth ${growth.toFixed(1)} %`);
    return growth;
  }

  private async look(): Promise<void> {
    const sample = await takeSample(this.fuzzer, this.program);
    const { requests, memory, descriptors } = sample;
    this.samples.push(sample);
    if (this.samples.length % PROGRESS_SAMPLES === 0) this.print();
    if (descriptors > this.first.descriptors + this.connections + FILES) {
      this.faults.push(`${descriptors} descriptors are open after ${requests} requests`);
    }
    if (memory > this.first.memory + MOST_MEMORY) {
      this.faults.push(`${mib(memory)} of memory are taken after ${requests} requests`);
    }
  }

  private print(): void {
    const seconds = (performance.now() - this.started) / 1_000;
    const { requests } = this.fuzzer;
    const { memory = NaN, descriptors = NaN } = this.samples.at(-1) ?? {};
    console.log(
      `${requests} requests, ${seconds.toFixed()} s, ${(requests / seconds).toFixed()}/s, ${mib(memory)}, ${descriptors} descriptors`,
    );
  }

  private meanOf(from: number, to: number): number {
    const { requests: all } = this.fuzzer;
    const some = this.samples.filter(({ requests }) => {
      const part = requests / all;
      return part > from && part <= to;
    });
    return some.reduce((sum, { memory }) => sum + memory, 0) / some.length;
  }
}

async function takeSample({ requests }: Fuzzer, program: Program): Promise<Sample> {
  const descriptors = program.openDescriptors();
  return { requests, descriptors, memory: await program.residentMemory() };
}

function mib(value: number): string {
  return `${value.toFixed(1)} MiB`;
}
