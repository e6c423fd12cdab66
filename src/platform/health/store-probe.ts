import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { storeFailures } from '../database/data-source/store-failures.js';
import type { StoreDataSource } from '../database/data-source/store-data-source.js';

/** How long an answer of the store counts, in milliseconds: who asks more often causes no more work. */
const ANSWER_LIFE_MS = 1_000;

/** Finds out whether the store can take a create now. */
@Injectable()
export class StoreProbe {
  private answer: Promise<void> | undefined;
  /** By `performance.now()`; undefined while the store is asked. */
  private answeredAt: number | undefined;

  constructor(@Inject(DataSource) private readonly store: StoreDataSource) {}

  /** Rejects when the store fails. However many ask, there is one write at a time. */
  check(): Promise<void> {
    const { answer, answeredAt } = this;
    const isCurrent = answeredAt === undefined || performance.now() - answeredAt < ANSWER_LIFE_MS;
    if (answer !== undefined && isCurrent) return answer;
    this.answeredAt = undefined;
    this.answer = this.write().finally(() => (this.answeredAt = performance.now()));
    return this.answer;
  }

  private async write(): Promise<void> {
    try {
      await this.store.probeWrite();
    } catch (error) {
      storeFailures.report(error as Error);
      throw error;
    }
  }
}
