import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { inNewFolder } from '../../../../test/support/new-folder.js';
import { SqliteConnection } from './sqlite-connection.js';

let connection: SqliteConnection;

beforeEach(async () => {
  connection = await SqliteConnection.open(':memory:');
  await connection.exec('CREATE TABLE notes (text)');
});

afterEach(() => connection.close());

describe('a statement of a SQLite connection', () => {
  it('has no parameter of its last time when it is given none', async () => {
    const sql = 'SELECT ? AS given';
    expect(await connection.all(sql, ['first'])).toEqual([{ given: 'first' }]);
    expect(await connection.all(sql, [])).toEqual([{ given: null }]);
  });

  it('is valid once the table has its column', async () => {
    await expect(connection.all('SELECT size FROM notes', [])).rejects.toThrow(/no such column/);
    await connection.exec('ALTER TABLE notes ADD COLUMN size');
    expect(await connection.all('SELECT size FROM notes', [])).toEqual([]);
  });

  it('fails for each of its executions when it does not compile', async () => {
    const executions = [1, 2].map(() => connection.all('SELECT missing FROM notes'));
    for (const execution of executions) await expect(execution).rejects.toThrow(/no such column/);
  });

  it.each([
    ['is executed', 'SELECT 1', { status: 'fulfilled' }],
    ['fails', 'SELECT missing', { status: 'rejected' }],
  ])('%s when its connection is closed at the same time', async (_, sql, outcome) => {
    const closing = await SqliteConnection.open(':memory:');
    const [execution] = await Promise.allSettled([closing.all(sql), closing.close()]);
    expect(execution).toMatchObject(outcome);
  });

  it('that got no lock is over, so that a transaction can be committed after it', async () => {
    await inNewFolder(async (folder) => {
      const path = join(folder, 'notes.db');
      const other = await SqliteConnection.open(
        path,
        'PRAGMA journal_mode = WAL; CREATE TABLE notes (text); BEGIN IMMEDIATE',
        'create',
      );
      const own = await SqliteConnection.open(path, 'PRAGMA busy_timeout = 0');
      const insert = own.all('INSERT INTO notes VALUES (?)', ['refused']);
      await expect(insert).rejects.toThrow('SQLITE_BUSY');
      await other.exec('COMMIT');
      await own.exec('BEGIN IMMEDIATE');
      await own.all("INSERT INTO notes VALUES ('stored')");
      await own.exec('COMMIT');
      expect(await other.all('SELECT text FROM notes')).toEqual([{ text: 'stored' }]);
      for (const each of [own, other]) await each.close();
    });
  });

  it('is prepared again after many others, and always answered', async () => {
    const results = Array.from({ length: 300 }, (_, index) =>
      connection.all(`SELECT ${index % 150} AS result`, []),
    );
    expect(await Promise.all(results)).toEqual(
      Array.from({ length: 300 }, (_, index) => [{ result: index % 150 }]),
    );
  });
});
