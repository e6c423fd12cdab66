import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from '../fixtures/app.js';
import { PlantsApplication } from './plants-application.js';

/** The service of `test/fixtures`, as the tests of the package start it. */
export class TestApp extends PlantsApplication {
  protected createApp(features: readonly Type[]): Promise<NestExpressApplication> {
    return createApp(features);
  }
}
