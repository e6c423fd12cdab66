import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../src/app.js';
import { ACCESS_TOKENS } from './headers.js';

export interface AppUnderTest {
  readonly url: URL;
  /** The SQLite file of its store. */
  readonly storePath: string;
  close(): Promise<void>;
}

/** Starts the application on a free port, with an empty store of its own. */
export async function startApp(): Promise<AppUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
  const storePath = join(folder, 'plants.db');
  Object.assign(process.env, {
    DATABASE_URL: `sqlite:${storePath}`,
    ACCESS_TOKENS,
    LOG_LEVEL: 'silent',
  });
  const app = await createApp();
  await app.listen(0, '127.0.0.1');
  return {
    url: new URL(await app.getUrl()),
    storePath,
    close: async () => {
      await app.close();
      rmSync(folder, { recursive: true });
    },
  };
}
