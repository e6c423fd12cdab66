import { Controller, Get, Redirect } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../auth/public.decorator.js';

@Public()
@ApiExcludeController()
@Controller()
export class DocsController {
  /** Whoever opens the service in a browser wants its documents. */
  @Get()
  @Redirect('/docs')
  root(): void {
    // The decorators say it all.
  }
}
