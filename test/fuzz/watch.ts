import type { Fuzzer } from './fuzzer.js';
import type { ServiceProcess } from './service-process.js';

/** How often memory is measured, in milliseconds, and after how many times progress is printed. */
const SAMPLE_TIME = 1_000;
const PROGRESS_SAMPLES = 10;

/** Prints progress, and follows the memory of the service. */
export class Watch {
  private readonly started = Date.now();
  private readonly samples: { requests: number; memory: number }[] = [];
  private readonly timer = setInterval(() => void this.look(), SAMPLE_TIME);

  /** @param requests how many there will be */
  constructor(
    private readonly fuzzer: Fuzzer,
    private readonly service: ServiceProcess,
    private readonly requests: number,
  ) {}

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.look();
    this.print();
  }

  /**
   * One reading says little: memory goes up and down with the garbage collector. So the mean of
   * the second tenth of the requests is compared with the mean of the last.
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
    const memory = await this.service.residentMemory();
    this.samples.push({ requests: this.fuzzer.requests, memory });
    if (this.samples.length % PROGRESS_SAMPLES === 0) this.print();
  }

  private print(): void {
    const seconds = (Date.now() - this.started) / 1_000;
    const sent = this.fuzzer.requests;
    const memory = mib(this.samples.at(-1)?.memory ?? NaN);
    console.log(
      `${sent} requests, ${seconds.toFixed()} s, ${(sent / seconds).toFixed()}/s, ${memory}`,
    );
  }

  private meanOf(from: number, to: number): number {
    const some = this.samples.filter(({ requests }) => {
      const part = requests / this.requests;
      return part > from && part <= to;
    });
    return some.reduce((sum, { memory }) => sum + memory, 0) / some.length;
  }
}

function mib(value: number): string {
  return `${value.toFixed(1)} MiB`;
}
