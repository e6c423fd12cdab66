import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Calls a function with a new folder, and then removes the folder with its contents. */
export async function inNewFolder<T>(act: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  return await act(folder).finally(() => rm(folder, { recursive: true }));
}
