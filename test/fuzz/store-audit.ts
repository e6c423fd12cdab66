import sqlite3 from 'sqlite3';
import type { PlantsModel } from './plants-model.js';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

/**
 * What is in the store and should not be, or the other way round: refused requests left nothing
 * behind, and every answer of 200 is a row.
 */
export async function auditStore(path: string, model: PlantsModel): Promise<string[]> {
  const faults: string[] = [];
  const rows = await eachRow(path, ({ id, name, tag }) => {
    const isKnown = model.holds(BigInt(id), name, tag ?? undefined);
    if (!isKnown && faults.length < 10) {
      faults.push(`the store holds ${JSON.stringify({ id, name, tag })}, which nobody created`);
    }
  });
  if (rows !== model.size) faults.push(`the store holds ${rows} plants, not ${model.size}`);
  return faults;
}

function eachRow(path: string, look: (row: Row) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const database = new sqlite3.Database(path, sqlite3.OPEN_READONLY);
    database.each<Row>(
      'SELECT CAST(id AS TEXT) AS id, name, tag FROM plants',
      (error, row) => (error === null ? look(row) : reject(error)),
      (error, rows) => {
        database.close();
        if (error === null) resolve(rows);
        else reject(error);
      },
    );
  });
}
