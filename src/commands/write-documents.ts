import { readFileSync, writeFileSync } from 'node:fs';
import { createApp } from '../app.js';
import { buildOpenApi, getStatus, listErrors, listMetrics } from 'durable-rest/program';

// Writes openapi.json and the tables of the documents, as the application describes itself with
// everything switched on. Its store is in memory.
Object.assign(process.env, {
  DATABASE_URL: 'sqlite::memory:',
  LOG_LEVEL: 'error',
  CHANGE_FEED: 'on',
});
const app = await createApp();
await app.init();
writeFileSync('openapi.json', `${JSON.stringify(buildOpenApi(app), null, 2)}\n`);
await app.close();

const errors = listErrors().map((one) => [one.error, getStatus(one), one.message, one.advice]);
writeTable('docs/errors.md', ['error', 'HTTP', 'message', 'what to do'], errors);

const metrics = (await listMetrics(app)).map(([name, help]) => [`\`${name}\``, help]);
writeTable('docs/monitoring.md', ['metric', 'what it measures'], metrics);

/** Replaces the table of a document that begins with these columns. Prettier aligns it. */
function writeTable(document: string, columns: string[], rows: unknown[][]): void {
  const lines = [columns, columns.map(() => '-'), ...rows].map(
    (cells) => `| ${cells.join(' | ')} |`,
  );
  const table = new RegExp(`^\\| ${columns[0]} +\\|.*\\n(?:\\|.*\\n)+`, 'm');
  writeFileSync(document, readFileSync(document, 'utf8').replace(table, `${lines.join('\n')}\n`));
}
