import { TestApp } from '../support/test-app.js';
import { ApiDocument } from './api-document.js';
import { ACCESS_TOKENS } from './headers.js';
import { HttpClient } from './http-client.js';

/** The service, its OpenAPI document, and a client of it. */
export class DocumentedService {
  private constructor(
    private readonly app: TestApp,
    readonly document: ApiDocument,
    readonly client: HttpClient,
  ) {}

  static async start(): Promise<DocumentedService> {
    const app = await TestApp.start({ ACCESS_TOKENS });
    return new DocumentedService(app, await ApiDocument.load(app.url), new HttpClient(app.url));
  }

  async close(): Promise<void> {
    this.client.close();
    await this.app.close();
  }
}
