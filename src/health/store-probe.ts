import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { StoreDataSource } from '../database/store-data-source.js';

/** Finds out whether the store can take a create now. */
@Injectable()
export class StoreProbe {
  private readonly logger = new Logger(StoreProbe.name);
  private running: Promise<void> | undefined;

  constructor(@Inject(DataSource) private readonly store: StoreDataSource) {}

  /** Rejects when the store fails. However many ask, there is one write at a time. */
  check(): Promise<void> {
    this.running ??= this.write().finally(() => (this.running = undefined));
    return this.running;
  }

  private async write(): Promise<void> {
    try {
      await this.store.probeWrite();
    } catch (error) {
      this.logger.error(error);
      throw error;
    }
  }
}
