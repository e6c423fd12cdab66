import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { countBeside, countRows, preload } from './database.js';
import { REPLACED_TAG, TOKEN } from './operations.js';
import type { Server } from './server.js';

/** A program that is measured. It runs in a folder of its own. */
export interface Contestant {
  /** For the command line and the results. */
  readonly name: string;
  /** For tables and the chart. */
  readonly title: string;
  /** The arguments of Node. */
  readonly args: (port: number) => string[];
  /** The binary of Node; by default the one that runs the benchmark. */
  readonly node?: string;
  readonly env?: (port: number, folder: string) => Record<string, string>;
  /** Processes that share the load; 1 by default. */
  readonly replicas?: number;
  /** The status of a create that went well; 200 by default. */
  readonly created?: number;
  /** Creates what the program expects to find. */
  readonly prepare?: (folder: string) => Promise<void>;
  /** Counts the plants on disk, unless the program stores nothing. */
  readonly stored?: (folder: string) => Promise<number>;
  /** Starts something beside the load, and resolves with a function that ends it. */
  readonly beside?: (server: Server) => Promise<() => void>;
  /** Removes what is outside the folder. */
  readonly clear?: (folder: string) => Promise<void>;
}

/** A contestant that stores plants in a table, and also reads, lists, replaces and removes them. */
export interface TableContestant extends Contestant {
  readonly stored: (folder: string) => Promise<number>;
  /** Fills the table that the program has created with plants, with ids from 1. */
  readonly fill: (folder: string, rows: number) => Promise<void>;
  /** Counts the plants that were replaced. */
  readonly replaced: (folder: string) => Promise<number>;
}

const DATABASE = 'plants.db';
const JSON_STORE = 'plants.json';

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const databaseIn = (folder: string): string => path.join(folder, DATABASE);
const inSqlite: Pick<TableContestant, 'stored' | 'fill' | 'replaced'> = {
  stored: (folder) => countRows(databaseIn(folder)),
  fill: (folder, rows) => preload(databaseIn(folder), rows),
  replaced: (folder) => countRows(databaseIn(folder), REPLACED_TAG),
};

/** The built program with its shipped defaults, but for what `env` changes. */
export function program(
  name = 'program',
  title = 'Plant Store',
  env: Record<string, string> = {},
): TableContestant {
  return {
    name,
    title,
    args: () => [here('../dist/main.js')],
    env: (port) => ({
      PORT: String(port),
      ACCESS_TOKENS: TOKEN,
      DATABASE_URL: `sqlite:${DATABASE}`,
      ...env,
    }),
    ...inSqlite,
  };
}

export function peer(name: string, title: string): TableContestant {
  return { ...peerWithoutStore(name, title), ...inSqlite };
}

function peerWithoutStore(name: string, title: string): Contestant {
  return {
    name,
    title,
    args: () => [here(`peers/${name}.mjs`)],
    env: (port) => ({ PORT: String(port), TOKEN, DATABASE }),
  };
}

/** How many rows per second the other module must save for the measurement to be valid. */
const LEAST_SAVES = 95;

/** The program with a module in it that saves 100 rows per second. */
export function besideNeighbour(): Contestant {
  return {
    ...program('neighbour', 'Plant Store beside 100 save() per second'),
    args: () => [here('peers/neighbour.mjs')],
    stored: async (folder) => {
      const { creates, saves, seconds } = await countBeside(databaseIn(folder));
      if (saves / seconds < LEAST_SAVES) {
        console.error(`FAILED: the neighbour saved ${Math.round(saves / seconds)} rows per second`);
        process.exitCode = 1;
      }
      return creates;
    },
  };
}

const jsonServer: Contestant = {
  name: 'json-server',
  title: 'json-server (no token, no flush)',
  args: (port) => {
    const command = createRequire(import.meta.url).resolve('json-server/lib/cli/bin.js');
    return [command, '--quiet', '--port', String(port), JSON_STORE];
  },
  created: 201,
  prepare: (folder) => writeFile(path.join(folder, JSON_STORE), '{"plants":[]}'),
  stored: async (folder) => {
    const text = await readFile(path.join(folder, JSON_STORE), 'utf8');
    return (JSON.parse(text) as { plants: unknown[] }).plants.length;
  },
};

/** The program is the first: ratios are relative to it. */
export const CONTESTANTS: readonly Contestant[] = [
  program(),
  peer('express', 'Express 5 + better-sqlite3'),
  peer('fastify', 'Fastify + better-sqlite3'),
  peer('nest-typeorm', 'Nest + TypeORM save()'),
  jsonServer,
  peerWithoutStore('bare-http', 'node:http, stores nothing'),
];

/** Measured only if named. */
export const SPECIAL: readonly Contestant[] = [peer('forgetful', 'forgetful (must fail)')];
