import { Controller, Get, Redirect } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../auth/auth.decorators.js';

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
