import { readFileSync, writeFileSync } from 'node:fs';
import type { OperationName } from './operations.js';

/** What `npm run bench -- --publish` writes, and what the documents show. */
const FILE = new URL('results.json', import.meta.url);

export type Engine = 'sqlite' | 'postgres';

/** The contestant that the others are compared with. */
export const PROGRAM = 'Plant Store';
/** The operations that are compared with those of other services. */
export const COMPARED: readonly OperationName[] = ['create', 'read', 'page', 'replace', 'remove'];
/** The numbers of connections on which creates are measured. */
export const LOADS = [1, 4, 16, 64, 256, 1_024];
/** What disturbs creates, and how the documents name it. */
export const DISTURBANCES = {
  'hot-row': 'all of one plant',
  crowd: 'on 1,024 connections',
  'beside-refused-lines': 'beside imports of refused lines',
  'beside-exports': 'beside exports of the whole table',
  'beside-transactions': 'beside transactions of a module',
  'beside-slow-reads': 'beside slow reads of a module',
  'beside-foreign-key': 'beside violations of a foreign key',
  'beside-unique-key': 'beside violations of a unique key',
  'beside-check': 'beside violations of a CHECK',
} as const satisfies Partial<Record<OperationName, string>>;

export type Part = 'asked' | 'peers' | 'load' | 'disturbed';

/** One run of an operation. */
export interface Round {
  /** Acknowledged requests per second. */
  readonly rate: number;
  /** The processor times for each acknowledged request, in microseconds. */
  readonly processorUs: number;
  readonly serverUs: number;
  readonly loadUs: number;
  /** The answers per second to the requests that disturbed the operation. */
  readonly besideRate: number;
  /** How long half of the answers, and 99 of 100 answers, took at most; 0 for imports. */
  readonly medianMs: number;
  readonly p99Ms: number;
}

/** The rounds of one operation and one contestant, without the warm-up. */
export interface Measurement {
  /** What the measurement is for: the peers, the load, or what disturbs creates. */
  readonly part: Part;
  readonly engine: Engine;
  readonly operation: OperationName;
  readonly connections: number;
  readonly contestant: string;
  readonly rounds: readonly Round[];
}

export interface Results {
  readonly date: string;
  readonly machine: string;
  readonly node: string;
  /** The versions of the engines. */
  readonly versions: Readonly<Record<Engine, string>>;
  /** The plants in the table at the start. */
  readonly rows: number;
  readonly seconds: number;
  readonly measurements: readonly Measurement[];
}

export function readResults(): Results {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Results;
}

/** Writes a line for each measurement, so that a diff shows them. */
export function writeResults({ measurements, ...run }: Results): void {
  const head = JSON.stringify(run, null, 2).replace(/\n}$/, '');
  const lines = measurements.map((one) => `    ${JSON.stringify(one, round)}`).join(',\n');
  writeFileSync(FILE, `${head},\n  "measurements": [\n${lines}\n  ]\n}\n`);
}

/** More digits than four would only suggest a precision that no measurement has. */
function round(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value;
}

/** A value of each round: the median, the least and the most. */
export interface Range {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function toRange(values: readonly number[]): Range {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1);
  const median = middle.reduce((sum, value) => sum + value, 0) / middle.length;
  return { median, least: sorted[0] ?? NaN, most: sorted.at(-1) ?? NaN };
}
