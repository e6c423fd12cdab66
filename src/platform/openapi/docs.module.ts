import { type INestApplication, Module, type OnModuleInit } from '@nestjs/common';
import { DocsController } from './docs.controller.js';
import { setUpDocs } from './swagger-ui.js';

@Module({ controllers: [DocsController] })
export class DocsModule implements OnModuleInit {
  private app: INestApplication | undefined;

  /** Serves documents of an application once it is initialized. */
  document(app: INestApplication): void {
    this.app = app;
  }

  /** By now the controllers have their routes: Express tries those first, for which most requests are. */
  onModuleInit(): void {
    if (this.app !== undefined) setUpDocs(this.app);
  }
}
