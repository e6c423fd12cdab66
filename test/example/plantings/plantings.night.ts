import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { JobRunner } from '../../../src/platform/database/job-runner.js';
import { PlantingsService } from './plantings.service.js';

const JOB = 'remove-empty-plantings';

/** The work on plantings each night, done by one of the programs that share the store. */
@Injectable()
export class PlantingsNight {
  constructor(
    private readonly jobs: JobRunner,
    private readonly plantings: PlantingsService,
  ) {}

  /** @returns whether this program did the work */
  @Cron('0 3 * * *', { timeZone: 'UTC' })
  async tidy(): Promise<boolean> {
    const today = new Date(new Date().toISOString().slice(0, 10));
    return await this.jobs.runOnce(JOB, today, (signal) => this.plantings.removeEmpty(signal));
  }
}
