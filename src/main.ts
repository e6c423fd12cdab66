import { runProgram } from 'durable-rest/program';
import { service } from './service.js';

// Imported here, so that the program can explain a module that cannot be loaded.
await runProgram(service, async () => (await import('./app.js')).createApp());
