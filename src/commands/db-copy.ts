import { start } from 'durable-rest/start';

await start(async () => {
  const { copyStores } = await import('durable-rest/program');
  const { schema } = await import('../schema.js');
  await copyStores(schema);
});
