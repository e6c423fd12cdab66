import { checkStore } from 'durable-rest/program';
import { schema } from '../schema.js';

await checkStore(schema);
