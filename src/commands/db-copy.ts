import { copyStores } from 'durable-rest/program';
import { schema } from '../schema.js';

await copyStores(schema);
