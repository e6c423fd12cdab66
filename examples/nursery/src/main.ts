import { start } from 'durable-rest/start';

// All else is imported here, so that the program can explain a module that cannot be loaded.
await start(async () => {
  const { runProgram } = await import('durable-rest/program');
  const { service } = await import('./service.js');
  await runProgram(service, async () => (await import('./app.js')).createApp());
});
