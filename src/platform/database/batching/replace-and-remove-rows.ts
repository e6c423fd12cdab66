import type { BatchOperation } from './batch-queue.js';
import { countCharacters, type Values } from './entity-columns.js';
import { nameForeignKey } from './compare-rows.js';
import {
  type FailureClassifier,
  executeIsolated,
  type Result,
  unavailable,
} from './isolate-failures.js';
import { atomically, type Session, type Statement } from './session.js';
import type { KeyTexts, TableSql } from './sql-builder.js';

/** The outcome for a row to replace or remove. */
export type WriteOutcome = 'done' | 'missing';

/** A row to store in place of the one with the same key. */
export interface Replacement {
  readonly key: string;
  readonly values: Values;
}

/** Replaces rows regardless of their current values. */
export class ReplaceRows implements BatchOperation<Replacement, WriteOutcome> {
  readonly name = 'replace';

  constructor(
    private readonly sql: TableSql,
    private readonly classifier: FailureClassifier,
  ) {}

  measure({ values }: Replacement): number {
    return countCharacters(values);
  }

  getKey({ key }: Replacement): string {
    return key;
  }

  execute(session: Session, items: readonly Replacement[]): Promise<Result<WriteOutcome>[]> {
    const { sql, classifier } = this;
    const encode = (round: readonly Replacement[]): unknown[] =>
      sql.encodeRows(round.map(({ values }) => values));
    return writeInRounds(session, items, sql, sql.update, encode, classifier);
  }
}

/** Removes rows regardless of their current values. */
export class RemoveRows implements BatchOperation<{ readonly key: string }, WriteOutcome> {
  readonly name = 'remove';

  constructor(
    private readonly sql: TableSql,
    private readonly classifier: FailureClassifier,
  ) {}

  getKey({ key }: { readonly key: string }): string {
    return key;
  }

  execute(
    session: Session,
    items: readonly { readonly key: string }[],
  ): Promise<Result<WriteOutcome>[]> {
    const { sql, classifier } = this;
    const encode = (round: readonly { readonly key: string }[]): unknown[] =>
      sql.encodeKeys(round.map(({ key }) => key));
    return writeInRounds(session, items, sql, sql.remove, encode, classifier);
  }
}

/** Executes a statement on items; items with the same key one after another. */
function writeInRounds<Item extends { readonly key: string; readonly values?: Values }>(
  session: Session,
  items: readonly Item[],
  sql: TableSql,
  statement: Statement,
  encode: (round: readonly Item[]) => unknown[],
  classifier: FailureClassifier,
): Promise<Result<WriteOutcome>[]> {
  const write = async (within: Session, part: readonly Item[]): Promise<WriteOutcome[]> => {
    const done = new Set<Item>();
    for (const round of splitIntoRounds(part)) {
      const keys = sql.readKeys(await within.attempt<KeyTexts>(statement, encode(round)));
      for (const item of round) if (keys.has(item.key)) done.add(item);
    }
    return part.map((item) => (done.has(item) ? 'done' : 'missing'));
  };
  const writeFree = async (
    within: Session,
    part: readonly Item[],
    error: unknown,
  ): Promise<Result<WriteOutcome>[]> => {
    const keys = sql.encodeKeys([...new Set(part.map(({ key }) => key))]);
    const held = sql.readKeys(await within.query<KeyTexts>(sql.lockFree, keys));
    if (held.size === 0) throw error;
    const free = part.filter(({ key }) => !held.has(key));
    const outcomes = await write(within, free);
    const results = new Map(free.map((item, index) => [item, outcomes[index]]));
    return part.map((item) => results.get(item) ?? unavailable(error));
  };
  return executeIsolated(
    session,
    items,
    classifier,
    async (within, part) => {
      const isOneStatement = new Set(part.map(({ key }) => key)).size === part.length;
      try {
        return await (isOneStatement
          ? write(within, part)
          : atomically(within, (transaction) => write(transaction, part)));
      } catch (error) {
        if (classifier.classify(error) !== 'lock' || part.length === 1) throw error;
        return await atomically(within, (transaction) => writeFree(transaction, part, error));
      }
    },
    (failure, within, item) => nameForeignKey(failure, within, sql, item.values),
  );
}

/** Splits items into the fewest rounds without duplicate keys, keeping their order. */
export function splitIntoRounds<Item extends { readonly key: string }>(
  items: readonly Item[],
): Item[][] {
  const rounds: Item[][] = [];
  const counts = new Map<string, number>();
  for (const item of items) {
    const round = counts.get(item.key) ?? 0;
    counts.set(item.key, round + 1);
    (rounds[round] ??= []).push(item);
  }
  return rounds;
}
