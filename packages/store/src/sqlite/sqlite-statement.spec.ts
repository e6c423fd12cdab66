import { expect, it } from '@jest/globals';
import { readStatement, removeSemicolon, type SqliteStatement } from './sqlite-statement.js';

it.each<[SqliteStatement['kind'], string]>([
  ['read', 'SELECT 1'],
  ['read', '-- insert\n /* update\n */ select 1'],
  ['read', "VALUES ('delete')"],
  ['read', 'EXPLAIN DELETE FROM plants'],
  ['read', "WITH some AS (SELECT 1 AS a) SELECT replace(a, 'x', 'y') FROM some"],
  ['read', 'WITH some(a) AS (SELECT 1 FROM (SELECT 2)), more AS (SELECT 3) SELECT * FROM some'],
  ['read', 'PRAGMA table_xinfo("plants")'],
  ['read', 'PRAGMA "main".index_list("plants")'],
  ['read', 'pragma main . foreign_key_list(plants)'],
  ['setting', 'PRAGMA foreign_keys = OFF'],
  ['setting', 'pragma journal_mode'],
  ['setting', "ATTACH 'other.db' AS other"],
  ['control', 'BEGIN TRANSACTION'],
  ['control', '/* then */ commit;'],
  ['control', 'SAVEPOINT a'],
  ['write', 'INSERT INTO plants VALUES (1)'],
  ['write', 'WITH some AS (SELECT 1) INSERT INTO plants SELECT * FROM some'],
  ['write', 'REPLACE INTO plants VALUES (1)'],
  ['write', 'CREATE TABLE temporary (id)'],
  ['write', 'VACUUM'],
  ['write', ''],
])('a statement is a %s: %s', (kind, sql) => {
  expect(readStatement(sql).kind).toBe(kind);
});

it.each([
  ['insert', 'INSERT INTO a VALUES (1) RETURNING id'],
  ['update', '/* x */update a set b = 1\nreturning*'],
  ['delete', 'DELETE FROM a WHERE b IN (SELECT 1) RETURNING "id"'],
  ['replace', 'replace into a values (1) returning id'],
  [
    'insert',
    'WITH x AS (SELECT (1)) INSERT INTO a SELECT 1 ON CONFLICT DO UPDATE SET b = 1 RETURNING b',
  ],
  ['delete', 'with recursive x(a) as (values (1)) delete from a returning a'],
])('a statement returns the rows of its %s: %s', (verb, sql) => {
  expect(readStatement(sql)).toMatchObject({ verb, returnsRows: true });
});

it.each([
  "INSERT INTO a VALUES ('a returning b')",
  'INSERT INTO a VALUES (1) -- returning b',
  'UPDATE "returning" SET [returning] = `returning`',
  "UPDATE a SET b = 'it''s returning'",
  'UPDATE a SET returning_date = 1 /* returning',
])('a statement returns no rows: %s', (sql) => {
  expect(readStatement(sql).returnsRows).toBe(false);
});

it.each([
  ['replace into a VALUES (1)', true],
  ['INSERT OR/**/REPLACE INTO a VALUES (1)', true],
  ['UPDATE OR REPLACE[a] SET b = 1', true],
  ['CREATE TABLE a (b UNIQUE ON CONFLICT REPLACE)', true],
  ['CREATE TRIGGER t AFTER INSERT ON a BEGIN REPLACE INTO b VALUES (1); END', true],
  ["UPDATE a SET b = replace (b, 'or replace', '') -- REPLACE", false],
  ['UPDATE "replace" SET replaced = 1', false],
])('%s may replace rows: %p', (sql, mayReplace) => {
  expect(readStatement(sql).mayReplace).toBe(mayReplace);
});

it.each([
  ['SELECT 1; SELECT 2', true],
  ['INSERT INTO a VALUES (1);\nINSERT INTO a VALUES (2);', true],
  ['SELECT 1;; -- done', false],
  ["SELECT ';' || 1", false],
  ['CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; DELETE FROM c; END', false],
])('%s has another statement behind it: %p', (sql, isFollowed) => {
  expect(readStatement(sql).isFollowed).toBe(isFollowed);
});

it.each([
  ['SELECT 1;', 'SELECT 1'],
  ['SELECT 1 ; \n; -- done;', 'SELECT 1 '],
  ['SELECT 1; /* done */', 'SELECT 1'],
  ['SELECT 1 -- done;', 'SELECT 1 -- done;'],
  ["SELECT ';'", "SELECT ';'"],
  ["SELECT ';';", "SELECT ';'"],
])('%s has no semicolon any more: %s', (sql, text) => {
  expect(removeSemicolon(sql)).toBe(text);
});
