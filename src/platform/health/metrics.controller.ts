import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { RequireScopes } from '../auth/auth.decorators.js';
import { registry } from '../observability/metrics.js';

@RequireScopes()
@ApiExcludeController()
@Controller('metrics')
export class MetricsController {
  /** Answers with all metrics in the text format of Prometheus. */
  @Get()
  @Header('Content-Type', registry.contentType)
  async metrics(): Promise<string> {
    return await registry.metrics();
  }
}
