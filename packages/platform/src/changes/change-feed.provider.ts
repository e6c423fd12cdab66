import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { InjectDataSource } from '@nestjs/typeorm';
import { Env } from '../config/env.js';
import { ChangeFeed, type StoreDataSource } from 'durable-store';

/** How often changes that are too old are removed, in milliseconds. */
const RETENTION_CHECK_MS = 60_000;

/** The feed of the application's store. */
@Injectable()
export class StoreChangeFeed extends ChangeFeed implements BeforeApplicationShutdown {
  constructor(@InjectDataSource() store: StoreDataSource, { CHANGE_RETENTION }: Env) {
    super(store, CHANGE_RETENTION);
  }

  beforeApplicationShutdown(): void {
    this.stop();
  }

  @Interval(RETENTION_CHECK_MS)
  override async removeOld(): Promise<void> {
    await super.removeOld();
  }
}
