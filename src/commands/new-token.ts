import { printNewToken } from 'durable-rest/program';

await printNewToken();
