/**
 * The ids of a load, one for each request. Each run of a load continues where the last one ended.
 */
export type Ids = AscendingIds | ScatteredIds;

interface AscendingIds {
  readonly order: 'ascending';
  next: number;
}

/** Ids from 1 to `rows`, each once before any is repeated. */
interface ScatteredIds {
  readonly order: 'scattered';
  /** The place of the next id. */
  next: number;
  readonly rows: number;
}

export function freshIds(next = 1): Ids {
  return { order: 'ascending', next };
}

/** Makes the ids of a table that was filled with this many rows. */
export function scatteredIds(rows: number): Ids {
  return { order: 'scattered', next: 0, rows };
}

/** A prime, so that the stride reaches every row unless the number of rows is its multiple. */
const STRIDE = 611_953;

/** Takes the next id, as JSON text. */
export function takeId(ids: Ids): string {
  const number = ids.next++;
  return String(ids.order === 'scattered' ? ((number * STRIDE) % ids.rows) + 1 : number);
}

/** Far enough from each other not to overlap. */
const APART = 1e12;

/** Makes the ids of one of several loads that run at the same time; the first takes `ids` itself. */
export function splitOffIds(ids: Ids, load: number): Ids {
  return load === 0 ? ids : { ...ids, next: ids.next + load * APART };
}
