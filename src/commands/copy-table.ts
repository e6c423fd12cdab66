import { hash } from 'node:crypto';
import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import { BatchedRepository } from '../platform/database/batched-repository.js';
import { countBytes, EntityColumns } from '../platform/database/batching/entity-columns.js';
import { ConstraintError } from '../platform/database/constraint.error.js';
import type { StoreDataSource } from '../platform/database/data-source/store-data-source.js';
import { CommandError, formatCount } from './command.js';

/** How many rows are read at a time. A row may have 100 KB. */
const ROWS_READ = 100;

/** How many rows are written at a time. */
const MAX_ROWS = 1_000;

/** About how many characters are written at a time: far fewer than may wait for a commit. */
const MAX_CHARACTERS = 1024 * 1024;

/** How often progress is reported, in milliseconds. */
const PROGRESS_INTERVAL_MS = 2_000;

/** A table that is the same in both stores. */
export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
  /** A digest of all rows, whatever their order. */
  readonly digest: string;
}

/** A table of one of the stores. */
interface Table {
  readonly columns: EntityColumns;
  readonly rows: BatchedRepository<ObjectLiteral>;
}

type Rows = AsyncIterable<ObjectLiteral> | Iterable<ObjectLiteral>;

/**
 * Copies the rows of one table into the same table of another store, and then compares the two.
 *
 * @throws CommandError
 */
export async function copyTable(
  source: StoreDataSource,
  target: StoreDataSource,
  metadata: EntityMetadata,
  onProgress: (line: string) => void,
): Promise<CopiedTable> {
  const table = metadata.tableName;
  const from = openTable(source, metadata);
  const to = openTable(target, metadata);
  await copyRows(from, to, (rows) => onProgress(`${table}: ${formatCount(rows, 'row')} copied`));
  if (to.columns.counter !== undefined) {
    await target.raiseCounter(to.columns, await source.readCounter(from.columns));
  }
  onProgress(`${table}: comparing`);
  const [before, after] = await Promise.all([digestTable(from), digestTable(to)]);
  if (before.digest !== after.digest || before.rows !== after.rows) {
    throw new CommandError(
      `${table} differs: ${formatCount(before.rows, 'row')} in the first store, ${after.rows} in the second. Does a program write to one of them?`,
    );
  }
  return { table, ...before };
}

function openTable(store: StoreDataSource, { target }: EntityMetadata): Table {
  const repository = store.getRepository<ObjectLiteral>(target);
  return {
    columns: new EntityColumns(repository),
    rows: new BatchedRepository(repository),
  };
}

/** @param onProgress gets the number of copied rows from time to time */
async function copyRows(from: Table, to: Table, onProgress: (rows: number) => void): Promise<void> {
  let copied = 0;
  const progress = setInterval(() => onProgress(copied), PROGRESS_INTERVAL_MS);
  const onCopied = (): void => {
    copied++;
  };
  try {
    let waiting = await createRows(to, readRows(from), onCopied);
    // In a table that refers to itself, a row may come before the one that it refers to. In the
    // reverse order, it comes after that one.
    while (waiting.length > 0) {
      const orphans = await createRows(to, waiting.reverse(), onCopied);
      if (orphans.length === waiting.length) {
        throw new CommandError(
          `${to.columns.metadata.tableName} has rows that refer to missing rows, such as the one with the key ${describeKey(to, orphans.at(-1))}`,
        );
      }
      waiting = orphans;
    }
  } finally {
    clearInterval(progress);
  }
}

/**
 * Creates rows. Resolves with those that are refused, since they refer to rows that are not there.
 *
 * @throws CommandError when the table holds another row with the key of one of them
 */
async function createRows(to: Table, rows: Rows, onCopied: () => void): Promise<ObjectLiteral[]> {
  const refused: ObjectLiteral[] = [];
  const create = async (row: ObjectLiteral): Promise<void> => {
    const outcome = await to.rows.create(row).catch((error: unknown) => {
      if (error instanceof ConstraintError && error.kind === 'foreign key') return 'refused';
      throw error;
    });
    if (outcome === 'different') {
      throw new CommandError(
        `${to.columns.metadata.tableName} already holds another row with the key ${describeKey(to, row)}: nothing is overwritten`,
      );
    }
    if (outcome === 'refused') refused.push(row);
    else onCopied();
  };
  for await (const part of splitBySize(to, rows)) await Promise.all(part.map(create));
  return refused;
}

/** Splits rows into parts that are written at a time. */
async function* splitBySize(
  { columns }: Table,
  rows: Rows,
): AsyncGenerator<readonly ObjectLiteral[]> {
  let part: ObjectLiteral[] = [];
  let characters = 0;
  for await (const row of rows) {
    part.push(row);
    characters += countBytes(columns.encodeRow(row));
    if (part.length === MAX_ROWS || characters >= MAX_CHARACTERS) {
      yield part;
      part = [];
      characters = 0;
    }
  }
  if (part.length > 0) yield part;
}

/** Adds up the digests of the rows, since engines may sort them differently. */
async function digestTable(table: Table): Promise<{ rows: number; digest: string }> {
  const { columns } = table.columns.metadata;
  let count = 0;
  let sum = 0n;
  for await (const row of readRows(table)) {
    const values = columns.map((column) => column.getEntityValue(row) as unknown);
    sum += BigInt(`0x${hash('sha256', JSON.stringify(values))}`);
    count++;
  }
  return { rows: count, digest: BigInt.asUintN(256, sum).toString(16).padStart(64, '0') };
}

/** Reads all rows of a table in the order of the key. */
async function* readRows({ rows }: Table): AsyncGenerator<ObjectLiteral> {
  let after: string | undefined;
  do {
    const page = await rows.list({ limit: ROWS_READ, after });
    yield* page.rows;
    after = page.next;
  } while (after !== undefined);
}

function describeKey({ columns }: Table, row: ObjectLiteral = {}): string {
  return columns.keys.map((column) => String(column.getEntityValue(row))).join(', ');
}
