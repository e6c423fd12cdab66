import { describe, expect, it } from '@jest/globals';
import { type DynamicModule, Injectable, Module, type Provider } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { BearerGuard, createApplication, ErrorFilter, PlatformModule } from 'durable-rest/program';
import { PlantsModule } from '../fixtures/plants.module.js';
import { schema } from '../fixtures/schema.js';
import { service } from '../fixtures/service.js';

@Injectable()
class OwnGuard {
  canActivate(): boolean {
    return true;
  }
}

@Module({})
class Root {}

const PLATFORM = PlatformModule.forRoot(service, schema);
const BEARER = { provide: APP_GUARD, useClass: BearerGuard };
const OWN = { provide: APP_GUARD, useClass: OwnGuard };
const FILTER = { provide: APP_FILTER, useClass: ErrorFilter };

@Module({ providers: [BEARER, FILTER] })
class GlobalsModule {}

@Module({ providers: [OWN] })
class OwnModule {}

function makeRoot(imports: DynamicModule['imports'], providers: Provider[] = []): DynamicModule {
  return { module: Root, imports: [...(imports ?? []), PlantsModule], providers };
}

async function withApplication(
  root: DynamicModule,
  use: (app: NestExpressApplication) => Promise<void>,
): Promise<void> {
  process.env = {
    ...process.env,
    DATABASE_URL: 'sqlite::memory:',
    LOG_LEVEL: 'silent',
    ACCESS_TOKENS: 'token',
    // The connections of fetch() stay open.
    SHUTDOWN_GRACE_MS: '0',
  };
  const app = await createApplication(root);
  await app
    .init()
    .then(() => use(app))
    .finally(() => app.close());
}

it.each([
  ['the platform is imported, and the root has the guard', [PLATFORM], [BEARER, FILTER]],
  ['the module of the guard comes before the platform', [GlobalsModule, PLATFORM], []],
  ['the module of the guard comes after the platform', [PLATFORM, GlobalsModule], []],
  ['another guard comes first', [OwnModule, PLATFORM, GlobalsModule], []],
  ['the root has another guard first', [PLATFORM], [OWN, BEARER, FILTER]],
])('the token is checked before the body when %s', async (_, imports, providers) => {
  await withApplication(makeRoot(imports, providers), async (app) => {
    await once(app.getHttpServer().listen(0, '127.0.0.1'), 'listening');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const send = async (headers: Record<string, string>): Promise<unknown> => {
      const init = { method: 'POST', headers, body: 'no JSON' };
      const answer = await fetch(`http://127.0.0.1:${port}/plants`, init);
      return await answer.json();
    };
    const type = { 'Content-Type': 'application/json' };
    expect(await send(type)).toMatchObject({ error: 40100 });
    expect(await send({ ...type, Authorization: 'Bearer token' })).toMatchObject({ error: 40001 });
  });
});

describe('the start fails', () => {
  it.each([
    ['the bearer guard', [FILTER], 'Add { provide: APP_GUARD, useClass: BearerGuard }'],
    ['a guard but another one', [OWN, FILTER], 'Add { provide: APP_GUARD, useClass: BearerGuard }'],
    ['a global bearer guard', [BearerGuard, FILTER], 'Add { provide: APP_GUARD'],
    ['the filter of errors', [BEARER], 'Add { provide: APP_FILTER, useClass: ErrorFilter }'],
  ])('without %s', async (_, providers, message) => {
    const root = makeRoot([PLATFORM], providers);
    await expect(withApplication(root, () => Promise.resolve())).rejects.toThrow(message);
  });
});
