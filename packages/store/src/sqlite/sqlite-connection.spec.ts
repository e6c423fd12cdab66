import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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

  it('is prepared again after many others, and always answered', async () => {
    const results = Array.from({ length: 300 }, (_, index) =>
      connection.all(`SELECT ${index % 150} AS result`, []),
    );
    expect(await Promise.all(results)).toEqual(
      Array.from({ length: 300 }, (_, index) => [{ result: index % 150 }]),
    );
  });
});
