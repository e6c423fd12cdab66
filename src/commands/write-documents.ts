import { readFileSync, writeFileSync } from 'node:fs';
import { createApp } from '../app.js';
import { TRANSIENT_DATABASE_URL } from '../platform/config/database-url.js';
import { describeModuleSettings, MODULE_SETTINGS } from '../platform/config/setting.decorators.js';
import { buildOpenApi } from '../platform/openapi/build-openapi.js';
import { listErrors, getStatus } from '../platform/errors/error-catalogue.js';

// Writes openapi.json, the table of docs/errors.md and the end of .env.example, as the application
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

const ERRORS = 'docs/errors.md';
const rows = listErrors().map((one) => [one.error, getStatus(one), one.message, one.advice]);
const table = [['error', 'HTTP', 'message', 'what to do'], ['-', '-', '-', '-'], ...rows]
  .map((cells) => `| ${cells.join(' | ')} |\n`)
  .join('');
writeFileSync(ERRORS, readFileSync(ERRORS, 'utf8').replace(/(?:^\|.*\n)+/m, table));

const EXAMPLE = '.env.example';
const [platformSettings = ''] = readFileSync(EXAMPLE, 'utf8').split(MODULE_SETTINGS);
writeFileSync(EXAMPLE, platformSettings + MODULE_SETTINGS + describeModuleSettings());
