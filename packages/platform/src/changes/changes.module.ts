import { Module } from '@nestjs/common';
import { ChangeFeed } from 'durable-store';
import { StoreChangeFeed } from './change-feed.provider.js';
import { ChangesController } from './changes.controller.js';

@Module({
  controllers: [ChangesController],
  providers: [{ provide: ChangeFeed, useClass: StoreChangeFeed }],
})
export class ChangesModule {}
