import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { register } from 'prom-client';
import { RequireScopes } from '../auth/auth.decorators.js';

@RequireScopes()
@ApiExcludeController()
@Controller('metrics')
export class MetricsController {
  /** Answers with all metrics in the text format of Prometheus. */
  @Get()
  @Header('Content-Type', register.contentType)
  async metrics(): Promise<string> {
    return await register.metrics();
  }
}
