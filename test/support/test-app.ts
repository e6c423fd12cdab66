import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from '../../src/app.js';
import { PlantsApplication } from './plants-application.js';

/** The program, as the tests of the service start it. */
export class TestApp extends PlantsApplication {
  protected createApp(features: readonly Type[]): Promise<NestExpressApplication> {
    return createApp(features);
  }
}
