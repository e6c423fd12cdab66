import { backUpStore } from 'durable-rest/program';
import '../service.js';

await backUpStore();
