import { fileURLToPath } from 'node:url';
import { start } from 'durable-rest/start';

await start(async () => {
  const { runTypeorm } = await import('durable-rest/program');
  await runTypeorm(fileURLToPath(new URL('../data-source.js', import.meta.url)));
});
