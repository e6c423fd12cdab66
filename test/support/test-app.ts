import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from '../../src/app.js';
import {
  type Answer,
  TestApplication,
} from '../../packages/platform/src/testing/test-application.js';

export {
  type Answer,
  LONG_TIMEOUTS,
} from '../../packages/platform/src/testing/test-application.js';

export interface Row {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

/** The program with its plants. */
export class TestApp extends TestApplication {
  protected createApp(features: readonly Type[]): Promise<NestExpressApplication> {
    return createApp(features);
  }

  /** Sends POST /plants with a valid token and exactly this text or these bytes as the body. */
  create(
    body: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.post('/plants', body, headers);
  }

  /** Reads the stored plants, sorted by id. */
  async rows(): Promise<Row[]> {
    return await this.query<Row>(
      'SELECT CAST(id AS TEXT) AS id, name, tag FROM plants ORDER BY plants.id',
    );
  }

  async row(id: string): Promise<Row | undefined> {
    return (await this.rows()).find((row) => row.id === id);
  }
}
