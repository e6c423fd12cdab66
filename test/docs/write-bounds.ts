import { readFileSync, writeFileSync } from 'node:fs';
import { maxHeaderSize } from 'node:http';
import { loadEnv } from 'durable-rest/program';
import { getMaxStopMs } from '../../packages/platform/src/config/time-limits.js';
import { MAX_WAITING } from '../../packages/store/src/batching/batch-queue.js';
import { PAGE_BYTES } from '../../packages/store/src/batching/read-rows.js';
import {
  CLIENT_MEMORY,
  HANDLED_BYTES,
  MAX_BATCHES,
  MAX_DOWNLOAD_WAIT_MS,
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
const OTHERS_WAIT = 'others wait for a turn';

// Writes the table of bounds in docs/durability.md, and how long a stop takes in docs/operations.md, so
// that a changed limit shows in a diff.

/** Each bound with its limit, and what happens at the limit. */
const BOUNDS: readonly (readonly unknown[])[] = [
  ['headers of a request', `${maxHeaderSize / 1024} KiB, ${MAX_HEADERS} headers`, '43100'],
  ['a line of an import', `${BODY_LIMIT / 1024} KiB`, '41300'],
  ['a JSON body', `${BODY_LIMIT / 1024} KiB, or that of \`@BodyLimit()\``, '41300'],
  [
    'values to transform or check, up to 25 ms',
    `${MAX_VALUES}, or that of \`@MaxValues()\``,
    '40002',
  ],
  ['a value in a query, in URL encoding', `${MAX_ENCODED / 1024} KiB`, '40003'],
  ['the JSON of a page', `${PAGE_BYTES / MIB} MiB`, 'the page ends'],
  ['memory held for clients', `${CLIENT_MEMORY / MIB} MiB`, 'rule 3'],
  ['requests handled, 16 KiB and the body each', `${HANDLED_BYTES / MIB} MiB`, OTHERS_WAIT],
  ['pages and parts of exports being read', MAX_PAGE_TURNS, OTHERS_WAIT],
  [
    'of them read by SQLite at a time',
    `${env.FILE_PAGE_READERS}, or \`FILE_PAGE_READERS\``,
    OTHERS_WAIT,
  ],
  ['batches of imports being stored', MAX_BATCHES, OTHERS_WAIT],
  ['bytes of downloads being sent', `${HANDLED_BYTES / MIB} MiB`, OTHERS_WAIT],
  [
    'a wait for a turn, and for the store',
    `${env.STORE_TIMEOUT_MS / 1_000} seconds, or \`STORE_TIMEOUT_MS\``,
    '50300',
  ],
  ['a wait of a download for its turn', `${MAX_DOWNLOAD_WAIT_MS / 1_000} seconds`, '50300'],
  ['writes of a table that wait', `${MAX_WAITING.items}, ${MAX_WAITING.bytes / MIB} MiB`, '50300'],
  ['requests that wait for a change', MAX_WAITING_REQUESTS, '50300 for the client with the most'],
];

const rows = [['bound', 'limit', 'at the limit'], ['-', '-', '-'], ...BOUNDS];
const table = rows.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
replaceIn('docs/durability.md', /^\| bound +\|.*\n(?:\|.*\n)+/m, table);
const seconds = Math.ceil(getMaxStopMs(env.STORE_TIMEOUT_MS) / 1_000);
replaceIn('docs/operations.md', /(?<=A stop takes at most )\d+/, String(seconds));

function replaceIn(document: string, pattern: RegExp, text: string): void {
  writeFileSync(document, readFileSync(document, 'utf8').replace(pattern, text));
}
