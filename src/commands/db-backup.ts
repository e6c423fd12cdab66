import { start } from 'durable-rest/start';

await start(async () => {
  const { backUpStore } = await import('durable-rest/program');
  const { schema } = await import('../schema.js');
  await backUpStore(schema);
});
