import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApplication } from 'durable-rest/program';
import { AppModule } from './app.module.js';

/** Creates the application, for the program and its tests. */
export async function createApp(): Promise<NestExpressApplication> {
  return await createApplication(AppModule);
}
