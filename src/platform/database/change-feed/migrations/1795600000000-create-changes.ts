import type { MigrationInterface } from 'typeorm';

/** Does nothing: some stores have executed an older migration of this name. */
export class CreateChanges1795600000000 implements MigrationInterface {
  up(): Promise<void> {
    return Promise.resolve();
  }

  down(): Promise<void> {
    return Promise.resolve();
  }
}
