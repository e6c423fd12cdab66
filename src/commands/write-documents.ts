import { readFileSync, writeFileSync } from 'node:fs';
import { createApp } from '../app.js';
import { TRANSIENT_DATABASE_URL } from '../platform/config/database-url.js';
import { describeModuleSettings, MODULE_SETTINGS } from '../platform/config/setting.decorators.js';
import { buildOpenApi } from '../platform/openapi/build-openapi.js';
import { listErrors, getStatus } from '../platform/errors/error-catalogue.js';

// Writes openapi.json, the tables of the documents and the end of .env.example, as the application
// describes itself with everything switched on. Its store is in memory.
Object.assign(process.env, {
  DATABASE_URL: TRANSIENT_DATABASE_URL,
  LOG_LEVEL: 'silent',
  CHANGE_FEED: 'on',
});
const app = await createApp();
await app.init();
writeFileSync('openapi.json', `${JSON.stringify(buildOpenApi(app), null, 2)}\n`);
await app.close();

const errors = listErrors().map((one) => [one.error, getStatus(one), one.message, one.advice]);
writeTable('docs/api.md', ['error', 'HTTP', 'message', 'what to do'], errors);

const EXAMPLE = '.env.example';
const [platformSettings = ''] = readFileSync(EXAMPLE, 'utf8').split(MODULE_SETTINGS);
writeFileSync(EXAMPLE, platformSettings + MODULE_SETTINGS + describeModuleSettings());

/** Replaces the table of a document that begins with these columns. Prettier aligns it. */
function writeTable(document: string, columns: string[], rows: unknown[][]): void {
  const lines = [columns, columns.map(() => '-'), ...rows].map(
    (cells) => `| ${cells.join(' | ')} |`,
  );
  const table = new RegExp(`^\\| ${columns[0]} +\\|.*\\n(?:\\|.*\\n)+`, 'm');
  writeFileSync(document, readFileSync(document, 'utf8').replace(table, `${lines.join('\n')}\n`));
}
