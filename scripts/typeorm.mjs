import { fileURLToPath } from 'node:url';
import './load-typescript.mjs';

// npm run typeorm -- <command>: TypeORM's command line, with the store of ormconfig.ts.

const { start } = await import('durable-rest/start');

await start(async () => {
  const { runTypeorm } = await import('durable-rest/program');
  await runTypeorm(fileURLToPath(new URL('../ormconfig.ts', import.meta.url)));
});
