import { start } from 'durable-rest/start';

await start(async () => {
  const { printNewToken } = await import('durable-rest/program');
  await printNewToken();
});
