import { writeFileSync } from 'node:fs';
import { createApp } from '../app.js';
import { TRANSIENT_DATABASE_URL } from '../config/database-url.js';
import { buildOpenApi } from '../docs/openapi.js';

// Writes openapi.json from the application itself, on a store that does not last.
Object.assign(process.env, { DATABASE_URL: TRANSIENT_DATABASE_URL, LOG_LEVEL: 'silent' });
const app = await createApp();
await app.init();
writeFileSync('openapi.json', `${JSON.stringify(buildOpenApi(app), null, 2)}\n`);
await app.close();
