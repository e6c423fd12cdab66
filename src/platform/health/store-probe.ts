import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { storeFailures } from '../database/data-source/store-failures.js';
import type { StoreDataSource } from '../database/data-source/store-data-source.js';

/** How long a result is cached, in milliseconds, so that frequent probes cause no more work. */
const CACHE_TTL_MS = 1_000;

/** Checks whether the store is writable. */
@Injectable()
export class StoreProbe {
  private answer: Promise<boolean> | undefined;
  /** As a time of `performance.now()`; undefined while a write is running. */
  private answeredAt: number | undefined;

  constructor(@Inject(DataSource) private readonly store: StoreDataSource) {}

  /** Concurrent calls share one write. */
  isWritable(): Promise<boolean> {
    const { answer, answeredAt } = this;
    const isCurrent = answeredAt === undefined || performance.now() - answeredAt < CACHE_TTL_MS;
    if (answer !== undefined && isCurrent) return answer;
    this.answeredAt = undefined;
    this.answer = this.write();
    return this.answer;
  }

  private async write(): Promise<boolean> {
    try {
      await this.store.probeWrite();
      return true;
    } catch (error) {
      storeFailures.report(error as Error);
      return false;
    } finally {
      this.answeredAt = performance.now();
    }
  }
}
