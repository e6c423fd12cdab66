import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { DataSource } from 'typeorm';
import { TestStore } from './test-store.js';
import { TOKEN } from './token.js';

/** Lets clients take any time for their requests, since a busy machine may slow them down. */
export const LONG_TIMEOUTS = { HEADERS_TIMEOUT_MS: '3600000', REQUEST_TIMEOUT_MS: '3600000' };

/** The environment of the tests. */
const ENV = { ...process.env };

type Body = string | Uint8Array<ArrayBuffer>;
type Headers = Record<string, string>;
type Env = Record<string, string>;
/** A class of applications. */
type Of<App> = new (features: readonly Type[], configure?: Configure) => App;
type Configure = (nest: NestExpressApplication) => void;

/**
 * An answer; its body is parsed where it is JSON.
 *
 * @example
 * ```ts
 * const { status, body, text }: Answer = await app.get('/plants/1');
 * ```
 */
export interface Answer {
  /** The method and the path of the request, for the message of a test that fails. */
  readonly request: string;
  readonly status: number;
  readonly headers: globalThis.Headers;
  readonly body: unknown;
  /** The body as it was received. Its numbers are exact only as text. */
  readonly text: string;
  /** The target of the link to the next page. */
  readonly next?: string | undefined;
}

/**
 * An application as in production, but with long time limits, a free port and its own store. A
 * service extends it with the function that creates its application.
 *
 * @example
 * ```ts
 * class BedsApp extends TestApplication {
 *   protected createApp(): Promise<NestExpressApplication> {
 *     return createApplication(AppModule.create([]));
 *   }
 * }
 * const beds = BedsApp.forAll();
 * ```
 */
export abstract class TestApplication {
  /** Undefined until it has started. */
  private running: NestExpressApplication | undefined;
  private store!: TestStore;
  private env: Env = {};

  constructor(
    private readonly features: readonly Type[],
    private readonly configure: Configure = () => undefined,
  ) {}

  /** Creates the application with these modules besides the program's own. */
  protected abstract createApp(features: readonly Type[]): Promise<NestExpressApplication>;

  /**
   * @param env changes to the environment that the application reads
   * @param features modules besides the program's own
   */
  static async start<App extends TestApplication>(
    this: Of<App>,
    env: Env = {},
    ...features: readonly Type[]
  ): Promise<App> {
    const app = new this(features);
    await app.open(env);
    return app;
  }

  /** Starts one application for all tests of a file or a block. See {@link start}. */
  static forAll<App extends TestApplication>(
    this: Of<App>,
    env: Env = {},
    ...features: readonly Type[]
  ): App {
    const app = new this(features);
    beforeAll(() => app.open(env));
    afterAll(() => app.close());
    return app;
  }

  /** Starts one application for all tests of a block, configured as in the `main.ts` of a team. */
  static configured<App extends TestApplication>(
    this: Of<App>,
    configure: Configure,
    ...features: readonly Type[]
  ): App {
    const app = new this(features, configure);
    beforeAll(() => app.open({}));
    afterAll(() => app.close());
    return app;
  }

  /** Starts one application for each test of a file or a block. See {@link start}. */
  static forEach<App extends TestApplication>(
    this: Of<App>,
    env: Env = {},
    ...features: readonly Type[]
  ): App {
    const app = new this(features);
    beforeEach(() => app.open(env));
    afterEach(() => app.close());
    return app;
  }

  private async open(env: Env): Promise<void> {
    this.env = env;
    this.store = await TestStore.create();
    try {
      this.running = await this.startNest(env);
    } catch (error) {
      await this.store.remove();
      throw error;
    }
  }

  /**
   * Stops the application and starts it again on its store.
   *
   * @param env further changes to the environment
   * @param act is called while the application is stopped
   */
  async restart(env: Env, act: () => Promise<unknown> = () => Promise.resolve()): Promise<void> {
    await this.stop();
    await act();
    this.env = { ...this.env, ...env };
    this.running = await this.startNest(this.env);
  }

  get nest(): NestExpressApplication {
    if (this.running === undefined) throw new TypeError('the application has not started');
    return this.running;
  }

  get port(): number {
    return (this.nest.getHttpServer().address() as AddressInfo).port;
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${this.port}`);
  }

  get storeUrl(): string {
    return this.store.url;
  }

  /** The header with a valid token. */
  readonly authorization = { Authorization: `Bearer ${TOKEN}` };

  // These send a valid token too, and a body exactly as it is given.

  post(path: string, body: Body, headers: Headers = {}): Promise<Answer> {
    return this.send('POST', path, { 'Content-Type': 'application/json', ...headers }, body);
  }

  put(path: string, body: Body, headers: Headers = {}): Promise<Answer> {
    return this.send('PUT', path, { 'Content-Type': 'application/json', ...headers }, body);
  }

  patch(path: string, body: Body, headers: Headers = {}): Promise<Answer> {
    const type = { 'Content-Type': 'application/merge-patch+json' };
    return this.send('PATCH', path, { ...type, ...headers }, body);
  }

  get(path: string, headers: Headers = {}): Promise<Answer> {
    return this.send('GET', path, headers);
  }

  delete(path: string, headers: Headers = {}): Promise<Answer> {
    return this.send('DELETE', path, headers);
  }

  private send(method: string, path: string, headers: Headers, body?: Body): Promise<Answer> {
    const init = { headers: { ...this.authorization, ...headers } };
    return this.request(method, path, body === undefined ? init : { ...init, body });
  }

  /** Gets a page and all that follow it. */
  async getPages(path: string): Promise<Answer[]> {
    const pages: Answer[] = [];
    for (let next: string | undefined = path; next !== undefined; next = pages.at(-1)?.next) {
      pages.push(await this.get(next));
    }
    return pages;
  }

  async request(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(this.url.origin + path, { method, redirect: 'manual', ...init });
    return await parse(`${method} ${path}`, response);
  }

  /** Reads rows of the store by a statement. */
  async query<Result>(sql: string): Promise<Result[]> {
    return await this.nest.get(DataSource).query<Result[]>(sql);
  }

  async close(): Promise<void> {
    await this.stop();
    await this.store.remove();
  }

  private async startNest(env: Env): Promise<NestExpressApplication> {
    process.env = {
      ...ENV,
      DATABASE_URL: this.store.url,
      ACCESS_TOKENS: TOKEN,
      LOG_LEVEL: 'silent',
      ...LONG_TIMEOUTS,
      ...env,
    };
    const nest = await this.createApp(this.features);
    this.configure(nest);
    await nest.init();
    await once(nest.getHttpServer().listen(0, '127.0.0.1'), 'listening');
    return nest;
  }

  private async stop(): Promise<void> {
    const { running } = this;
    if (running === undefined) return;
    this.running = undefined;
    running.getHttpServer().closeAllConnections();
    await running.close();
  }
}

async function parse(request: string, response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return {
    request,
    status: response.status,
    headers: response.headers,
    body: isJson && text !== '' ? JSON.parse(text) : text,
    text,
    next: /^<(.*)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1],
  };
}
