import { readFileSync, writeFileSync } from 'node:fs';
import { maxHeaderSize } from 'node:http';
import { register } from 'prom-client';
import { createApp } from '../app.js';
import { WAIT_TIMEOUT_MS } from '../platform/config/env.js';
import { MAX_WAITING } from '../platform/database/batching/batch-queue.js';
import { PAGE_BYTES } from '../platform/database/batching/read-rows.js';
import { buildOpenApi } from '../platform/openapi/build-openapi.js';
import { listErrors, getStatus } from '../platform/errors/error-catalogue.js';
import { CLIENT_MEMORY } from '../platform/limits/fair-share.js';
import { BODY_LIMIT } from '../platform/requests/body-reader.js';
import {
  HANDLED_BYTES,
  MAX_BATCHES,
  MAX_DOWNLOAD_WAIT_MS,
  MAX_PAGES,
} from '../platform/requests/turns.js';
import { MAX_ENCODED } from '../platform/requests/read-parameters.js';
import { MAX_WAITING_REQUESTS } from '../platform/rest/long-poll.js';
import { MAX_HEADERS } from '../platform/server/connections.js';

// Writes openapi.json and the tables of the documents, as the application describes itself with
// everything switched on. Its store is in memory.
Object.assign(process.env, {
  DATABASE_URL: 'sqlite::memory:',
  LOG_LEVEL: 'silent',
  CHANGE_FEED: 'on',
});
const app = await createApp();
await app.init();
writeFileSync('openapi.json', `${JSON.stringify(buildOpenApi(app), null, 2)}\n`);
await app.close();

const errors = listErrors().map((one) => [one.error, getStatus(one), one.message, one.advice]);
writeTable('docs/api.md', ['error', 'HTTP', 'message', 'what to do'], errors);

const metrics = (await register.getMetricsAsJSON())
  .filter(({ name }) => !/^(?:nodejs|process)_/.test(name))
  .map(({ name, help }) => [`\`${name}\``, help]);
writeTable('docs/operations.md', ['metric', 'what it measures'], metrics);

const MIB = 1024 * 1024;
const OTHERS_WAIT = 'others wait for a turn';
writeTable(
  'docs/durability.md',
  ['bound', 'limit', 'at the limit'],
  [
    ['headers of a request', `${maxHeaderSize / 1024} KiB, ${MAX_HEADERS} headers`, '43100'],
    ['a body, or a line of an import', `${BODY_LIMIT / 1024} KiB`, '41300'],
    ['a value in a query, in URL encoding', `${MAX_ENCODED / 1024} KiB`, '40003'],
    ['the JSON of a page', `${PAGE_BYTES / MIB} MiB`, 'the page ends'],
    ['memory held for clients', `${CLIENT_MEMORY / MIB} MiB`, 'rule 3'],
    ['requests handled, 16 KiB and the body each', `${HANDLED_BYTES / MIB} MiB`, OTHERS_WAIT],
    ['pages and parts of exports being read', MAX_PAGES, OTHERS_WAIT],
    ['batches of imports being stored', MAX_BATCHES, OTHERS_WAIT],
    ['bytes of downloads being sent', `${HANDLED_BYTES / MIB} MiB`, OTHERS_WAIT],
    ['a wait for a turn, and for the store', `${WAIT_TIMEOUT_MS / 1_000} seconds`, '50300'],
    ['a wait of a download for its turn', `${MAX_DOWNLOAD_WAIT_MS / 1_000} seconds`, '50300'],
    [
      'writes of a table that wait',
      `${MAX_WAITING.items}, ${MAX_WAITING.bytes / MIB} MiB`,
      '50300',
    ],
    ['requests that wait for a change', MAX_WAITING_REQUESTS, '50300 for the client with the most'],
  ],
);

/** Replaces the table of a document that begins with these columns. Prettier aligns it. */
function writeTable(document: string, columns: string[], rows: unknown[][]): void {
  const lines = [columns, columns.map(() => '-'), ...rows].map(
    (cells) => `| ${cells.join(' | ')} |`,
  );
  const table = new RegExp(`^\\| ${columns[0]} +\\|.*\\n(?:\\|.*\\n)+`, 'm');
  writeFileSync(document, readFileSync(document, 'utf8').replace(table, `${lines.join('\n')}\n`));
}
