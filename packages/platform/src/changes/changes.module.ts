import { Module } from '@nestjs/common';
import { ChangeFeed } from 'durable-store';
import { StoreChangeFeed } from './change-feed.provider.js';
import { ChangesController } from './changes.controller.js';

/**
 * Serves the feed of changes at `/changes`. Import it only while CHANGE_FEED is on.
 *
 * @example
 * ```ts
 * const imports = loadEnv().CHANGE_FEED === 'on' ? [ChangesModule] : [];
 * ```
 */
@Module({
  controllers: [ChangesController],
  providers: [{ provide: ChangeFeed, useClass: StoreChangeFeed }],
})
export class ChangesModule {}
