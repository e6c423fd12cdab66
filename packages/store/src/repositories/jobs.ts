import { Injectable } from '@nestjs/common';
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { BatchedRepository } from './batched-repository.js';
import { int64, nullable, text } from '../entities/columns.js';

/** The state of a job that one of the programs on a store does. */
@Entity('job_runs')
export class JobRun {
  @PrimaryColumn(text())
  name!: string;

  /** The time for which the job was claimed last, in milliseconds since 1970. */
  @Column(nullable(int64()))
  doneFor!: string | null;
}

/**
 * The jobs of which each is done by one of the programs that share a store. Injectable.
 *
 * @example
 * ```ts
 * @Injectable()
 * class PlantsNight {
 *   constructor(private readonly jobs: Jobs) {}
 *
 *   async tidy(today: Date): Promise<void> {
 *     if (await this.jobs.claimRun('remove-sold-plants', today)) await plants.remove(1n);
 *   }
 * }
 * ```
 */
@Injectable()
export class Jobs {
  private readonly runs: BatchedRepository<JobRun>;

  constructor(store: DataSource) {
    this.runs = new BatchedRepository(store.getRepository(JobRun));
  }

  /**
   * Claims a job for the time at which it is due, so that one of the programs does it. A job whose
   * program dies while doing it is done at the next due time.
   *
   * @param name the name of the job in the store
   * @param dueAt when the job is due, such as the beginning of the day; the same in all programs
   * @returns whether this program is the first to claim the job for this time or a later one
   * @throws StoreUnavailableError; another program may then claim the job
   */
  async claimRun(name: string, dueAt: Date): Promise<boolean> {
    let isFirst = false;
    await this.runs.change(name, (run) => {
      isFirst = Number(run?.doneFor ?? -Infinity) < dueAt.getTime();
      return isFirst ? { name, doneFor: String(dueAt.getTime()) } : undefined;
    });
    return isFirst;
  }
}
