import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';
import { createApplication } from 'durable-rest/program';

/**
 * Creates the application as it runs in production, configured by the environment. The program, its
 * tests and the writer of the documents all use it.
 *
 * @param features modules besides those of the program
 * @throws EnvError, DatabaseStartError
 */
export async function createApp(features: readonly Type[] = []): Promise<NestExpressApplication> {
  return await createApplication(AppModule.create(features));
}
