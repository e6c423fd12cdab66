import type { MigrationInterface } from 'typeorm';

/** Stores have recorded this migration. {@link IndexPlantsByTagStart1795800000000} replaces its index. */
export class IndexPlantsByTag1795219200000 implements MigrationInterface {
  async up(): Promise<void> {
    // Nothing is left to do.
  }

  async down(): Promise<void> {
    // Nothing is left to undo.
  }
}
