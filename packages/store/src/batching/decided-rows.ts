import { TransactionLostError } from '../engine/sessions.js';
import { countBytes, type Values } from '../entities/column-values.js';
import type { RawRow } from '../entities/entity-columns.js';
import { Failure, MAX_BATCH_BYTES, Rejection, RETRY } from './batch-queue.js';
import { type Decision, REMOVE, type Results, type RowChange } from './row-changes.js';
import type { RowStatements } from './row-statements.js';

/** How many rows are read at a time to decide about them, since they may be long. */
export const MAX_DECIDED = 128;

/**
 * Lets changes of different rows decide, each on its locked row, and writes what they decide. Once
 * the decided rows reach the size of a batch, the other changes wait for another one.
 */
export async function decideRows(
  statements: RowStatements,
  changes: readonly RowChange[],
  results: Results,
): Promise<void> {
  let bytes = 0;
  for (let start = 0; start < changes.length; start += MAX_DECIDED) {
    const part = changes.slice(start, start + MAX_DECIDED);
    if (bytes < MAX_BATCH_BYTES) bytes += await decidePart(statements, part, results);
    else for (const change of part) results.set(change, RETRY);
  }
}

/** Locks and reads rows, lets changes decide, and writes what they decide: so many bytes. */
async function decidePart(
  statements: RowStatements,
  changes: readonly RowChange[],
  results: Results,
): Promise<number> {
  const stored = await statements.lock(changes);
  const removed: RowChange[] = [];
  const updated = new Map<RowChange, Values>();
  const inserted = new Map<RowChange, Values>();
  for (const change of changes) {
    const row = stored.get(change.key);
    if (row === RETRY) {
      results.set(change, RETRY);
      continue;
    }
    // Waiting for an answer that is known would take each change a promise.
    const comparesBytes =
      row !== undefined && change.operation === 'create' && statements.hasBinaryColumns;
    const hasSameBytes = !comparesBytes || (await statements.hasSameBytes(change));
    const write = decideAlone(change, row, hasSameBytes, results);
    if (write === undefined) continue;
    if (write === REMOVE) {
      if (row !== undefined) removed.push(change);
    } else (row === undefined ? inserted : updated).set(change, write);
  }
  if (removed.length > 0) await removeLocked(statements, removed, results);
  if (updated.size > 0) {
    const rows = await statements.store('update', [...updated.values()]);
    failLeftOut(statements, updated.keys(), rows, results);
  }
  if (inserted.size > 0) await insert(statements, inserted, results);
  return countBytes([...updated.values(), ...inserted.values()].flat());
}

/** Removes rows that are locked. Another session may have referred to one, which is tried again. */
async function removeLocked(
  statements: RowStatements,
  changes: readonly RowChange[],
  results: Results,
): Promise<void> {
  const others = statements.listMissing(changes, await statements.remove(changes));
  if (others.length === 0) return;
  const referredTo = statements.listMissing(others, await statements.lockToRemove(others));
  for (const change of referredTo) results.set(change, RETRY);
  const free = others.filter((change) => !referredTo.includes(change));
  if (free.length === 0) return;
  // The other session may have ended meanwhile. Now only a trigger can leave a row out.
  failLeftOut(statements, free, await statements.remove(free), results);
}

/** Inserts rows. Another session may have inserted one with the key, which is tried again. */
async function insert(
  statements: RowStatements,
  inserted: Map<RowChange, Values>,
  results: Results,
): Promise<void> {
  const { session, violations } = statements;
  const rows = await statements.store('insert', [...inserted.values()]);
  const others = statements.listMissing(inserted.keys(), rows);
  if (others.length === 0) return;
  const free = statements.listMissing(others, await statements.find(others));
  for (const change of others) if (!free.includes(change)) results.set(change, RETRY);
  if (free.length === 0) return;
  const values = free.map((change) => inserted.get(change) ?? []);
  try {
    // Now only a trigger can leave a row out.
    const stored = await session.transaction(() => statements.store('insertFree', values));
    failLeftOut(statements, free, stored, results);
  } catch (error) {
    if (violations.findCause(error) === 'store' || error instanceof TransactionLostError) {
      throw error;
    }
    for (const change of free) results.set(change, RETRY);
  }
}

/** Fails those changes whose rows are not among these: a trigger has left them out. */
function failLeftOut(
  statements: RowStatements,
  changes: Iterable<RowChange>,
  rows: readonly RawRow[],
  results: Results,
): void {
  for (const change of statements.listMissing(changes, rows)) {
    results.set(change, new Failure(statements.createLeftOutError()));
  }
}

/** Lets a change decide, and sets its result. Returns what is to be written. */
export function decideAlone(
  change: RowChange,
  stored: RawRow | undefined,
  hasSameBytes: boolean,
  results: Results,
): Decision<unknown>['write'] {
  try {
    const { outcome, write } = change.decide(stored, hasSameBytes);
    results.set(change, outcome);
    return write;
  } catch (reason) {
    results.set(change, new Rejection(reason));
    return undefined;
  }
}
