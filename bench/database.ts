import { querySqlite } from '../test/support/query-sqlite.js';

/** @param tag counts only rows with this tag */
export async function countRows(file: string, tag?: string): Promise<number> {
  const condition = tag === undefined ? '' : 'WHERE tag = ?';
  const sql = `SELECT count(*) AS count FROM plants ${condition}`;
  const rows = await querySqlite(file, sql, tag === undefined ? [] : [tag]);
  return (rows as [{ count: number }])[0].count;
}

/**
 * Counts the rows in a store of peers/neighbour.mjs: those of creates, and those of the other
 * module.
 */
export async function countBeside(
  file: string,
): Promise<{ creates: number; saves: number; seconds: number }> {
  const rows = await querySqlite(
    file,
    `SELECT count(*) FILTER (WHERE id >= 0) AS creates, count(*) FILTER (WHERE id < 0) AS saves,
       (max(tag + 0) FILTER (WHERE id < 0) - min(tag + 0) FILTER (WHERE id < 0)) / 1000.0 AS seconds
     FROM plants`,
  );
  return (rows as [{ creates: number; saves: number; seconds: number }])[0];
}

/** Fills the table that the program has created, with ids from 1. */
export async function preload(file: string, rows: number): Promise<void> {
  await querySqlite(
    file,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?)
     INSERT INTO plants (id, name, tag)
     SELECT i, 'Monstera deliciosa', 'indoor' FROM n`,
    [rows],
  );
  // The index of the program. Peers need it too, to answer pages by tag as fast.
  await querySqlite(
    file,
    'CREATE INDEX IF NOT EXISTS plants_tag ON plants (tag) WHERE tag IS NOT NULL',
  );
}
