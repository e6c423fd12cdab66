import { start } from 'durable-rest/start';

await start(async () => {
  const { checkStore } = await import('durable-rest/program');
  const { schema } = await import('../schema.js');
  await checkStore(schema);
});
