import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Acts in a folder of its own, which is removed afterwards with all in it. */
export async function inNewFolder<T>(act: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  return await act(folder).finally(() => rm(folder, { recursive: true }));
}
