import { Controller, Get, Redirect } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../auth/public.decorator.js';

@Public()
@ApiExcludeController()
@Controller()
export class DocsController {
  /** Redirects a browser that opens the service to its documents. */
  @Get()
  @Redirect('/docs')
  root(): void {
    // The decorator answers.
  }
}
