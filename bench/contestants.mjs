import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { countBeside, countRows, preload } from './database.mjs';
import { REPLACED_TAG } from './operations.mjs';

export const TOKEN = 'a-token-for-the-benchmark-of-the-plant-store';

/**
 * A program that is measured. It runs in a folder of its own.
 *
 * @typedef {object} Contestant
 * @property {string} name for the command line and the results
 * @property {string} title for tables and the chart
 * @property {(port: number) => string[]} args of Node
 * @property {string} [node] its binary; by default the one that runs this
 * @property {(port: number, folder: string) => Record<string, string>} [env]
 * @property {string} [token] that it accepts; `TOKEN` by default
 * @property {number} [replicas] processes that share the load; 1 by default
 * @property {number} [created] the status of a create that went well; 200 by default
 * @property {(folder: string) => Promise<void>} [prepare] makes what the program wants to find
 * @property {((folder: string) => Promise<number>) | undefined} stored counts the plants on disk;
 *   undefined for a program that stores nothing
 * @property {(folder: string, rows: number) => Promise<void>} [fill] puts plants with ids from 1
 *   into the table that the program has made
 * @property {(folder: string) => Promise<number>} [replaced] counts the plants that were replaced
 * @property {(server: import('./server.mjs').Server) => Promise<() => void>} [beside] begins what
 *   goes on beside the load, and gives what ends it
 * @property {(folder: string) => Promise<void>} [clear] removes what is not in the folder
 */

const DATABASE = 'plants.db';
const JSON_STORE = 'plants.json';

export const databaseIn = (folder) => path.join(folder, DATABASE);

const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const inSqlite = {
  stored: async (folder) => countRows(databaseIn(folder)),
  fill: async (folder, rows) => preload(databaseIn(folder), rows),
  replaced: async (folder) => countRows(databaseIn(folder), REPLACED_TAG),
};

/** @returns {Contestant} the built program with its shipped defaults, but for what `env` changes */
export function program(name = 'program', title = 'Plant Store', env = {}) {
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

/** @returns {Contestant} */
export function peer(name, title) {
  return {
    name,
    title,
    args: () => [here(`peers/${name}.mjs`)],
    env: (port) => ({ PORT: String(port), TOKEN, DATABASE }),
    ...inSqlite,
  };
}

/** How many rows per second the other module must save for the measurement to be valid. */
const LEAST_SAVES = 95;

/** @returns {Contestant} the program with a module in it that saves 100 rows per second */
export function besideNeighbour() {
  return {
    ...program('neighbour', 'Plant Store beside 100 save() a second'),
    args: () => [here('peers/neighbour.mjs')],
    stored: async (folder) => {
      const { creates, saves, seconds } = countBeside(databaseIn(folder));
      if (saves / seconds < LEAST_SAVES) {
        console.error(`FAILED: the neighbour saved ${Math.round(saves / seconds)} rows per second`);
        process.exitCode = 1;
      }
      return creates;
    },
  };
}

/** @type {Contestant} */
const jsonServer = {
  name: 'json-server',
  title: 'json-server (no token, no flush)',
  args: (port) => [jsonServerCommand(), '--quiet', '--port', String(port), JSON_STORE],
  created: 201,
  prepare: (folder) => writeFile(path.join(folder, JSON_STORE), '{"plants":[]}'),
  stored: async (folder) =>
    JSON.parse(await readFile(path.join(folder, JSON_STORE), 'utf8')).plants.length,
};

function jsonServerCommand() {
  return createRequire(import.meta.url).resolve('json-server/lib/cli/bin.js');
}

/** The program is the first: ratios are relative to it. */
export const CONTESTANTS = [
  program(),
  peer('express', 'Express 5 + better-sqlite3'),
  peer('fastify', 'Fastify + better-sqlite3'),
  peer('nest-typeorm', 'Nest + TypeORM save()'),
  jsonServer,
  { ...peer('bare-http', 'node:http, stores nothing'), stored: undefined },
];

/** The contestants that also read, list, replace and remove plants. */
export const LIFE_NAMES = ['program', 'express', 'fastify', 'nest-typeorm'];

/** Measured only when named. */
export const SPECIAL = [peer('forgetful', 'forgetful (must fail)')];
