import { hash } from 'node:crypto';
import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import { BatchedRepository } from '../platform/database/batched-repository.js';
import { countCharacters, EntityColumns } from '../platform/database/batching/entity-columns.js';
import type { StoreDataSource } from '../platform/database/data-source/store-data-source.js';
import { CommandError, formatCount } from './command.js';

/** How many rows are read at a time. */
const PAGE_ROWS = 1_000;

/** About how many characters of rows are written at a time: far fewer than may wait for a commit. */
const PART_CHARACTERS = 1024 * 1024;

/** How often progress is reported, in milliseconds. */
const PROGRESS_INTERVAL_MS = 2_000;

/** A table that is the same in both stores. */
export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
  /** A digest of all rows, whatever their order. */
  readonly digest: string;
}

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
  const from = new BatchedRepository(source.getRepository(metadata.target));
  const to = new BatchedRepository(target.getRepository(metadata.target));
  const columns = readColumns(target, metadata);
  let copied = 0;
  const report = (): void => onProgress(`${table}: ${formatCount(copied, 'row')} copied`);
  const progress = setInterval(report, PROGRESS_INTERVAL_MS);
  try {
    for await (const page of readPages(from)) {
      for (const rows of splitBySize(page, columns)) {
        await createRows(to, columns, rows);
        copied += rows.length;
      }
    }
  } finally {
    clearInterval(progress);
  }
  onProgress(`${table}: comparing`);
  const [before, after] = await Promise.all([
    digestTable(from, metadata),
    digestTable(to, metadata),
  ]);
  if (before.digest !== after.digest || before.rows !== after.rows) {
    throw new CommandError(
      `${table} differs: ${formatCount(before.rows, 'row')} in the first store, ${after.rows} in the second. Does a program write to one of them?`,
    );
  }
  return { table, ...before };
}

function readColumns(store: StoreDataSource, { target }: EntityMetadata): EntityColumns {
  return new EntityColumns(store.getRepository(target), (...args) => store.encodeValue(...args));
}

/** Splits rows into parts, each of which ends with the row that makes it long enough. */
function* splitBySize(
  rows: readonly ObjectLiteral[],
  columns: EntityColumns,
): Generator<readonly ObjectLiteral[]> {
  let part: ObjectLiteral[] = [];
  let characters = 0;
  for (const row of rows) {
    part.push(row);
    characters += countCharacters(columns.encodeRow(row));
    if (characters >= PART_CHARACTERS) {
      yield part;
      part = [];
      characters = 0;
    }
  }
  if (part.length > 0) yield part;
}

/** @throws CommandError when the table holds another row with the key of one of them */
async function createRows(
  to: BatchedRepository<ObjectLiteral>,
  { metadata }: EntityColumns,
  rows: readonly ObjectLiteral[],
): Promise<void> {
  const outcomes = await Promise.all(rows.map((row) => to.create(row)));
  const different = rows.find((_, index) => outcomes[index] === 'different');
  if (different !== undefined) {
    throw new CommandError(
      `${metadata.tableName} already holds another row with the key ${describeKey(different, metadata)}: nothing is overwritten`,
    );
  }
}

/** Adds up the digests of the rows, since engines may sort them differently. */
async function digestTable(
  rows: BatchedRepository<ObjectLiteral>,
  metadata: EntityMetadata,
): Promise<{ rows: number; digest: string }> {
  let count = 0;
  let sum = 0n;
  for await (const page of readPages(rows)) {
    for (const row of page) {
      const values = metadata.columns.map((column) => column.getEntityValue(row) as unknown);
      sum += BigInt(`0x${hash('sha256', JSON.stringify(values))}`);
    }
    count += page.length;
  }
  return { rows: count, digest: BigInt.asUintN(256, sum).toString(16).padStart(64, '0') };
}

/** Reads all rows of a table in the order of the key. */
async function* readPages(
  rows: BatchedRepository<ObjectLiteral>,
): AsyncGenerator<readonly ObjectLiteral[]> {
  let after: string | undefined;
  do {
    const page = await rows.list({ limit: PAGE_ROWS, after });
    if (page.rows.length > 0) yield page.rows;
    after = page.next;
  } while (after !== undefined);
}

function describeKey(row: ObjectLiteral, { primaryColumns }: EntityMetadata): string {
  return primaryColumns.map((column) => String(column.getEntityValue(row))).join(', ');
}
