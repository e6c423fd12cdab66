import { Module } from '@nestjs/common';
import { ChangeFeed } from '../../platform/database/change-feed.js';
import { ChangesController } from './changes.controller.js';
import { ChangesService } from './changes.service.js';

@Module({
  controllers: [ChangesController],
  providers: [ChangesService, ChangeFeed],
})
export class ChangesModule {}
