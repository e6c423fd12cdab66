import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { isFeedOn } from '../platform/database/change-feed/change-log.js';
import { createDataSourceOptions } from '../platform/database/data-source/data-source-options.js';
import { createDataSource } from '../platform/database/data-source/open-database.js';
import {
  DatabaseStartError,
  type StoreDataSource,
} from '../platform/database/data-source/store-data-source.js';
import { schema } from '../schema.js';
import { CommandError } from './command.js';

/**
 * Begins an epoch of the feed of changes, because the contents of the store have been replaced.
 * Clients that mirror the store then read all of it again.
 *
 * @param url of the store, as in DATABASE_URL
 * @returns whether changes are recorded there
 * @throws CommandError, DatabaseStartError
 */
export async function beginEpoch(url: string): Promise<boolean> {
  const options = createDataSourceOptions({ DATABASE_URL: url, DATABASE_POOL_SIZE: 1 }, schema);
  if (options.type === 'sqlite' && !existsSync(options.database)) {
    throw new CommandError(`There is no store at ${resolve(options.database)}`);
  }
  const store = createDataSource(options);
  try {
    await store.initialize().catch((error: unknown) => {
      throw new DatabaseStartError(
        `The store cannot be used, ${store.description}: ${store.describeError(error)}`,
      );
    });
    return await beginEpochIn(store);
  } finally {
    await store.destroy();
  }
}

/** @returns whether changes are recorded in the store */
export async function beginEpochIn(store: StoreDataSource): Promise<boolean> {
  const queryRunner = store.createQueryRunner();
  try {
    // A store of an older version has no feed.
    if (!(await queryRunner.hasTable('change_feed'))) return false;
    if (!(await isFeedOn(queryRunner))) return false;
    await queryRunner.startTransaction();
    await store.changeLog.beginEpoch(queryRunner);
    await queryRunner.commitTransaction();
    return true;
  } finally {
    await queryRunner.release();
  }
}
