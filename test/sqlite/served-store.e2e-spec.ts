import {
  Inject,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { ExpressAdapter } from '@nestjs/platform-express';
import { ServeStaticModule } from '@nestjs/serve-static';
import { describe, expect, it } from '@jest/globals';
import express from 'express';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { TestApp } from '../support/fixture-app.js';
import { inNewFolder } from '../support/new-folder.js';

function useStaticAssets(folder: string): unknown {
  @Module({})
  class Assets implements OnModuleInit {
    constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost<ExpressAdapter>) {}

    onModuleInit(): void {
      this.host.httpAdapter.useStaticAssets(folder, { prefix: '/files' });
    }
  }
  return Assets;
}

function useMiddleware(folder: string): unknown {
  @Module({})
  class Files implements NestModule {
    configure(consumer: MiddlewareConsumer): void {
      consumer.apply(express.static(folder)).forRoutes('files');
    }
  }
  return Files;
}

/** The ways in which modules serve the files of a folder. */
const WAYS: Record<string, (folder: string) => unknown> = {
  ServeStaticModule: (rootPath) => ServeStaticModule.forRoot({ rootPath }),
  'useStaticAssets()': useStaticAssets,
  'express.static()': useMiddleware,
};

describe.each(Object.keys(WAYS))('a start is refused if %s serves the store in', (way) => {
  it.each([
    ['its folder', 'data'],
    ['a folder above', '.'],
    ['a link to its folder', 'link'],
  ])('%s', async (_, path) => {
    await inNewFolder(async (folder) => {
      await symlink(join(folder, 'data'), join(folder, 'link'));
      const module = WAYS[way]?.(join(folder, path)) as never;
      const DATABASE_URL = `sqlite:${join(folder, 'data/store.db')}`;
      await expect(TestApp.start({ DATABASE_URL }, module)).rejects.toThrow(
        /^Files are served from .+, which has the store .+store\.db: .+ serve another folder/,
      );
    });
  });
});

it('a start is not refused if a folder beside that of the store is served', async () => {
  await inNewFolder(async (folder) => {
    const module = WAYS.ServeStaticModule?.(join(folder, 'store')) as never;
    const DATABASE_URL = `sqlite:${join(folder, 'store.db')}`;
    const app = await TestApp.start({ DATABASE_URL }, module);
    await app.close();
  });
});
