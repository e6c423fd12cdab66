import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Jobs } from 'durable-rest';
import { PlantingsService } from './plantings.service.js';

/** The work on plantings each night, done by one of the programs that share the store. */
@Injectable()
export class PlantingsNight {
  constructor(
    private readonly jobs: Jobs,
    private readonly plantings: PlantingsService,
  ) {}

  /** @returns whether this program did the work */
  @Cron('0 3 * * *', { timeZone: 'UTC' })
  async tidy(): Promise<boolean> {
    const today = new Date(new Date().toISOString().slice(0, 10));
    if (!(await this.jobs.claimRun('remove-empty-plantings', today))) return false;
    await this.plantings.removeEmpty();
    return true;
  }
}
