import { Module } from '@nestjs/common';
import { ChangeFeed } from '../database/change-feed.js';
import { StoreChangeFeed } from './change-feed.provider.js';
import { ChangesController } from './changes.controller.js';

@Module({
  controllers: [ChangesController],
  providers: [{ provide: ChangeFeed, useClass: StoreChangeFeed }],
})
export class ChangesModule {}
