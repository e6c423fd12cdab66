import { describe, expect, it } from '@jest/globals';
import { classifyStatement, type StatementKind } from './classify-statement.js';

describe('classifyStatement', () => {
  it.each<[string, StatementKind]>([
    ['SELECT 1', 'read'],
    ['\n  select * FROM a', 'read'],
    ['/* insert */ SELECT 1', 'read'],
    ['-- a\n-- b\nVALUES (1)', 'read'],
    ['EXPLAIN QUERY PLAN DELETE FROM a', 'read'],
    ['WITH a AS (SELECT 1) SELECT * FROM a', 'read'],
    ['WITH a AS (SELECT 1) INSERT INTO b SELECT * FROM a', 'write'],
    ['with recursive a as (select 1) delete from b', 'write'],
    ['INSERT INTO a VALUES (1)', 'write'],
    ['REPLACE INTO a VALUES (1)', 'write'],
    ['UPDATE a SET b = 1', 'write'],
    ['DELETE FROM a', 'write'],
    ['CREATE TABLE a (b)', 'write'],
    ['ALTER TABLE a ADD b', 'write'],
    ['DROP TABLE a', 'write'],
    ['VACUUM', 'write'],
    ['ANALYZE', 'write'],
    ['PRAGMA table_info("a")', 'read'],
    ['PRAGMA main.table_xinfo("a")', 'read'],
    ['PRAGMA foreign_key_list(a)', 'read'],
    ['PRAGMA foreign_keys', 'read'],
    ['PRAGMA user_version;', 'read'],
    ['pragma integrity_check(1)', 'read'],
    ['PRAGMA foreign_keys = OFF', 'alter'],
    ['PRAGMA journal_mode(DELETE)', 'alter'],
    ['PRAGMA wal_checkpoint', 'alter'],
    ['PRAGMA wal_checkpoint(TRUNCATE)', 'alter'],
    ['PRAGMA incremental_vacuum', 'alter'],
    ["ATTACH 'a.db' AS a", 'alter'],
    ['CREATE TEMP TABLE a (b)', 'alter'],
    ['CREATE TEMPORARY VIEW a AS SELECT 1', 'alter'],
    ['BEGIN', 'control'],
    ['  begin immediate', 'control'],
    ['COMMIT', 'control'],
    ['END TRANSACTION', 'control'],
    ['ROLLBACK TO a', 'control'],
    ['SAVEPOINT a', 'control'],
    ['RELEASE a', 'control'],
    ['', 'write'],
  ])('%j: %s', (sql, kind) => {
    expect(classifyStatement(sql)).toBe(kind);
  });
});
