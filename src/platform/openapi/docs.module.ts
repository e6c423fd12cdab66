import {
  Controller,
  Get,
  type INestApplication,
  Module,
  type OnModuleInit,
  Redirect,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../auth/auth.decorators.js';
import { setUpDocs } from './serve-swagger-ui.js';

@Public()
@ApiExcludeController()
@Controller()
class DocsController {
  /** Redirects a browser that opens the service to its documents. */
  @Get()
  @Redirect('/docs')
  root(): void {
    // The decorator answers.
  }
}

@Module({ controllers: [DocsController] })
export class DocsModule implements OnModuleInit {
  private app: INestApplication | undefined;

  /** Serves the documents of an application once it is initialized. */
  document(app: INestApplication): void {
    this.app = app;
  }

  /** Runs after the controllers registered their routes, so that Express matches API routes first. */
  onModuleInit(): void {
    if (this.app !== undefined) setUpDocs(this.app);
  }
}
