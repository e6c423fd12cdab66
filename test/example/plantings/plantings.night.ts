import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { BatchedRepository } from '../../../src/platform/database/batched-repository.js';
import { claimRun, JobRun } from '../../../src/platform/database/jobs.js';
import { PlantingsService } from './plantings.service.js';

const JOB = 'remove-empty-plantings';

/** The work on plantings each night, done by one of the programs that share the store. */
@Injectable()
export class PlantingsNight {
  private readonly runs: BatchedRepository<JobRun>;

  constructor(
    @InjectDataSource() store: DataSource,
    private readonly plantings: PlantingsService,
  ) {
    this.runs = new BatchedRepository(store.getRepository(JobRun));
  }

  /** @returns whether this program did the work */
  @Cron('0 3 * * *', { timeZone: 'UTC' })
  async tidy(): Promise<boolean> {
    const today = new Date(new Date().toISOString().slice(0, 10));
    if (!(await claimRun(this.runs, JOB, today))) return false;
    await this.plantings.removeEmpty();
    return true;
  }
}
