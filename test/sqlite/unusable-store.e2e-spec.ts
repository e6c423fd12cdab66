import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { link, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoreDataSource } from '../../packages/store/src/engine/store-data-source.js';
import { DatabaseStartError } from '../../packages/store/src/errors/store.errors.js';
import { SqliteConnection } from '../../packages/store/src/sqlite/sqlite-connection.js';
import { openStore, querySqlite, shortenLockWaits } from '../support/store.js';

let folder: string;

beforeEach(async () => {
  shortenLockWaits();
  folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
});

afterEach(async () => {
  jest.restoreAllMocks();
  await rm(folder, { recursive: true });
});

describe('a start on a store that cannot be used says', () => {
  const open = (path: string): Promise<StoreDataSource> => openStore(`sqlite:${path}`);

  /** @param sql what another program, or a version of this one, has done to the store */
  async function expectRefusal(sql: string, reason: RegExp): Promise<void> {
    const path = join(folder, 'data/plants.db');
    await (await open(path)).destroy();
    await querySqlite(path, sql);
    await expect(open(path)).rejects.toThrow(DatabaseStartError);
    await expect(open(path)).rejects.toThrow(reason);
  }

  it('that another program serves from it, through a link that had no target', async () => {
    const other = join(folder, 'link.db');
    await symlink(join(folder, 'plants.db'), other);
    const first = await open(other);
    const others = [other, join(folder, 'plants.db')].map(async (path) => {
      await expect(open(path)).rejects.toThrow(/^Another program serves from this store/);
    });
    await Promise.all(others);
    await first.destroy();
  });

  it('that its file has another name, under which a second program would write to it', async () => {
    const path = join(folder, 'plants.db');
    const first = await open(path);
    await link(path, join(folder, 'same.db'));
    await expect(open(join(folder, 'same.db'))).rejects.toThrow(/same\.db has 2 names/);
    await first.destroy();
  });

  it('that a newer version has made it', async () => {
    await expectRefusal(
      "INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'Later9999999999999')",
      /does not know Later9999999999999: run the version .* list its name in retired of src\/schema\.ts$/,
    );
  });

  it('that its texts are in UTF-16, whose order is another', async () => {
    const path = join(folder, 'plants.db');
    const sql = "PRAGMA encoding = 'UTF-16le'; CREATE TABLE other (id)";
    const made = await SqliteConnection.open(path, sql, 'create');
    await made.close();
    await expect(open(path)).rejects.toThrow(/^The store is in UTF-16le, and must be in UTF-8/);
  });

  it('that it has tables of another program', async () => {
    await expectRefusal(
      'DELETE FROM migrations',
      /plants\.db, in the migration CreatePlants1763000000000: SQLITE_ERROR: table "plants" already exists$/,
    );
  });
});
