import { Global, Module } from '@nestjs/common';
import { Env } from '../config/env.js';
import { PinoLogger } from './pino-logger.js';

@Global()
@Module({
  providers: [
    { provide: PinoLogger, useFactory: (env: Env) => new PinoLogger(env.LOG_LEVEL), inject: [Env] },
  ],
  exports: [PinoLogger],
})
export class LoggingModule {}
