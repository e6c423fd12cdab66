import { makeEmptyRequest, makeRequest } from '../../support/plant-requests.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { describeCalls, isLinearizable } from './checker.js';
import { History, drawOperations, PLANTS, type Send } from './history.js';
import type { State } from './plant-register.js';

/** How many histories, each on a different id, run at a time. */
const CONCURRENT_HISTORIES = 64;

export interface Report {
  histories: number;
  calls: number;
  /** The number of calls with an unknown outcome. */
  unknown: number;
  /** Descriptions of histories that are not linearizable. */
  readonly violations: string[];
}

/** Makes histories of concurrent clients and checks each. */
export class Workload {
  readonly report: Report = { histories: 0, calls: 0, unknown: 0, violations: [] };
  private started = 0;
  private etags: ReadonlyMap<State, string> = new Map();

  /** @param lastId the ids of the histories are those after it */
  constructor(
    private readonly seed: number,
    private readonly send: Send,
    private readonly lastId = 0,
  ) {}

  /**
   * @param histories how many to run
   * @param maxViolations ends early after this many
   */
  async run(histories: number, maxViolations = Infinity): Promise<void> {
    this.etags = await this.readEtags();
    const work = async (): Promise<void> => {
      while (this.started < histories && this.report.violations.length < maxViolations)
        await this.runOne(++this.started);
    };
    await Promise.all(Array.from({ length: CONCURRENT_HISTORIES }, work));
  }

  private async runOne(number: number): Promise<void> {
    const random = new SeededRandom(
      Math.imul(this.seed, 0x9e3779b9) ^ Math.imul(number, 0x85ebca6b),
    );
    const history = new History(BigInt(this.lastId + number), this.etags);
    await history.run(drawOperations(random), this.send);
    const { calls } = history;
    const { report } = this;
    report.histories++;
    report.calls += calls.length;
    report.unknown += calls.filter(({ answer }) => answer === undefined).length;
    if (!isLinearizable(calls)) report.violations.push(`id ${history.id}\n${describeCalls(calls)}`);
  }

  /** An ETag depends only on the members of a plant, so the ETags of another id serve as well. */
  private async readEtags(): Promise<Map<State, string>> {
    const etags = new Map<State, string>();
    for (const [index, plant] of PLANTS.entries()) {
      const id = -1 - index;
      // A program may be killed meanwhile.
      let etag: string | undefined;
      while (etag === undefined) {
        await this.send(makeRequest(plant.replace('{', `{"id":${id},`)));
        const answer = await this.send(makeEmptyRequest('GET', `/plants/${id}`));
        etag = answer?.headers.etag;
      }
      etags.set(plant, etag);
    }
    if (new Set(etags.values()).size < PLANTS.length) throw new Error('plants share an ETag');
    return etags;
  }
}
