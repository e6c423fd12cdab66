import { readFileSync, writeFileSync } from 'node:fs';
import { maxHeaderSize } from 'node:http';
import { loadEnv } from 'durable-rest/program';
import {
  getLastAnswerMs,
  getMaxStopMs,
  getProbeTimeoutMs,
  MAX_WAIT_TIMEOUT_MS,
} from '../../packages/platform/src/config/time-limits.js';
import { MAX_WAITING } from '../../packages/store/src/batching/batch-queue.js';
import { PAGE_BYTES } from '../../packages/store/src/batching/read-rows.js';
import { TimeLimits } from '../../packages/store/src/engine/time-limits.js';
import { ROW_READERS } from '../../packages/store/src/postgres/postgres-data-source.js';
import {
  CLIENT_MEMORY,
  HANDLED_BYTES,
  MAX_BATCHES,
  MAX_EXPORT_TURNS,
  MAX_LONG_WAIT_MS,
  MAX_PAGE_TURNS,
  MAX_WAITING_REQUESTS,
} from '../../packages/platform/src/limits/request-limits.js';
import { BODY_LIMIT } from '../../packages/platform/src/requests/body-reader.js';
import { MAX_ENCODED } from '../../packages/platform/src/requests/read-parameters.js';
import { MAX_VALUES } from '../../packages/platform/src/validation/max-values.js';
import { MAX_HEADERS } from '../../packages/platform/src/server/connection.js';

const MIB = 1024 * 1024;
/** The settings by default. */
const env = loadEnv({});
const OTHERS_WAIT = 'others wait';
const FIXED = '-';

// Writes the tables of bounds and times in docs/limits.md, the table of connections in
// docs/postgresql.md, and how long a stop takes in docs/operations.md, so that a changed limit shows
// in a diff.

/** Each bound with its limit, with what changes it, and what happens at the limit. */
const BOUNDS: readonly (readonly unknown[])[] = [
  ['connections', writeNumber(env.MAX_CONNECTIONS), '`MAX_CONNECTIONS`', '50300'],
  [
    'the wait for the headers of a request',
    writeSeconds(env.HEADERS_TIMEOUT_MS),
    '`HEADERS_TIMEOUT_MS`',
    '40800',
  ],
  [
    'the wait for a JSON body',
    writeSeconds(env.REQUEST_TIMEOUT_MS),
    '`REQUEST_TIMEOUT_MS`',
    '40800',
  ],
  [
    'a pause of a client that reads or sends',
    writeSeconds(env.SEND_TIMEOUT_MS),
    '`SEND_TIMEOUT_MS`',
    'rule 5',
  ],
  [
    'an idle connection',
    writeSeconds(env.KEEP_ALIVE_TIMEOUT_MS),
    '`KEEP_ALIVE_TIMEOUT_MS`',
    'it is closed',
  ],
  ['requests of a client', writeRate(env.RATE_LIMIT), '`RATE_LIMIT`', '42900'],
  [
    'requests of an address without a valid token',
    writeRate(env.AUTH_FAILURE_LIMIT),
    '`AUTH_FAILURE_LIMIT`',
    '42900',
  ],
  ['headers of a request', `${maxHeaderSize / 1024} KiB, ${MAX_HEADERS} headers`, FIXED, '43100'],
  ['a line of an import', `${BODY_LIMIT / 1024} KiB`, FIXED, '41300'],
  ['a JSON body', `${BODY_LIMIT / 1024} KiB`, '`@BodyLimit()`', '41300'],
  ['values to transform or check', writeNumber(MAX_VALUES), '`@MaxValues()`', '40002'],
  ['a value in a query, in URL encoding', `${MAX_ENCODED / 1024} KiB`, FIXED, '40003'],
  ['the JSON of a page', `${PAGE_BYTES / MIB} MiB`, FIXED, 'the page ends'],
  ['memory held for clients', `${CLIENT_MEMORY / MIB} MiB`, FIXED, 'rule 3'],
  ['requests that run', `${HANDLED_BYTES / MIB} MiB`, FIXED, OTHERS_WAIT],
  ['pages that are read', MAX_PAGE_TURNS, FIXED, OTHERS_WAIT],
  ['parts of exports that are read', MAX_EXPORT_TURNS, FIXED, OTHERS_WAIT],
  ['pages that SQLite reads at a time', env.FILE_PAGE_READERS, '`FILE_PAGE_READERS`', OTHERS_WAIT],
  ['batches of imports that are stored', MAX_BATCHES, FIXED, OTHERS_WAIT],
  ['bytes of downloads that are sent', `${HANDLED_BYTES / MIB} MiB`, FIXED, OTHERS_WAIT],
  [
    'the wait to start, and for the store',
    writeSeconds(env.STORE_TIMEOUT_MS),
    '`STORE_TIMEOUT_MS`',
    '50300',
  ],
  ['the wait of a download, import or export', writeSeconds(MAX_LONG_WAIT_MS), FIXED, '50300'],
  [
    'writes of a table that wait',
    `${writeNumber(MAX_WAITING.items)}, ${MAX_WAITING.bytes / MIB} MiB`,
    FIXED,
    '50300',
  ],
  [
    'requests that wait for a change',
    writeNumber(MAX_WAITING_REQUESTS),
    FIXED,
    '50300 for the client with the most',
  ],
];

/** Each time that follows from STORE_TIMEOUT_MS. */
const TIMES: readonly (readonly [what: string, read: (limits: TimeLimits) => number])[] = [
  ['a write that would wait longer is refused at once', (limits) => limits.maxExpectedMs],
  ['PostgreSQL aborts a statement', (limits) => limits.statementMs],
  ['a request gets 50300', (limits) => limits.waitMs],
  ['SQLite gives up waiting for a lock of another process', (limits) => limits.fileLockMs],
  ['an attempt to connect to PostgreSQL fails', (limits) => limits.connectMs],
  ['`/health/ready` gives up', (limits) => getProbeTimeoutMs(limits.waitMs)],
  ['a read of a module waits until the WAL is emptied', (limits) => limits.maxPauseMs],
  ['a write waits until the WAL is emptied', (limits) => limits.maxStallMs],
  ['a migration on PostgreSQL waits to lock a table', (limits) => limits.tableLockMs],
  ['a stop of the program waits for the last answers', (limits) => getLastAnswerMs(limits.waitMs)],
  ['PostgreSQL ends the transaction of a stuck write', (limits) => limits.batchMs],
];
/** Numbers of replicas, each with connections of a server that are enough; 100 are its default. */
const REPLICAS = [
  [3, 100],
  [6, 100],
  [10, 200],
] as const;

const byDefault = new TimeLimits(env.STORE_TIMEOUT_MS);
const highest = new TimeLimits(MAX_WAIT_TIMEOUT_MS);

writeTable('limits', ['bound', 'limit', 'changed by', 'at the limit'], BOUNDS);
writeTable(
  'limits',
  ['time', 'at the default', 'at the highest setting'],
  TIMES.map(([what, read]) => [what, writeSeconds(read(byDefault)), writeSeconds(read(highest))]),
);
writeTable(
  'postgresql',
  ['replicas', 'connections', '`CONNECTION LIMIT` of the role', '`max_connections` of the server'],
  REPLICAS.map(([replicas, maxConnections]) => {
    const connections = replicas * (3 * env.DATABASE_POOL_SIZE + ROW_READERS);
    const limit = Math.floor(connections / 10 + 1) * 10;
    return [replicas, connections, limit, maxConnections];
  }),
);
const seconds = Math.ceil(getMaxStopMs(env.STORE_TIMEOUT_MS) / 1_000);
replaceIn('docs/operations.md', /(?<=A stop takes at most )\d+/, String(seconds));

function writeNumber(count: number): string {
  return count.toLocaleString('en');
}

function writeRate(rate: typeof env.RATE_LIMIT): string {
  if (rate === 'off') return 'no limit';
  return `${writeNumber(rate.limit)} in ${writeSeconds(rate.windowMs)}`;
}

function writeSeconds(ms: number): string {
  return `${ms / 1_000} s`;
}

/** Replaces the table of a document that begins with these columns. Prettier aligns it. */
function writeTable(
  document: string,
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
): void {
  const lines = [columns, columns.map(() => '-'), ...rows].map(
    (cells) => `| ${cells.join(' | ')} |\n`,
  );
  const table = new RegExp(`^\\| ${columns[0]} +\\|.*\\n(?:\\|.*\\n)+`, 'm');
  replaceIn(`docs/${document}.md`, table, lines.join(''));
}

function replaceIn(document: string, pattern: RegExp, text: string): void {
  writeFileSync(document, readFileSync(document, 'utf8').replace(pattern, text));
}
