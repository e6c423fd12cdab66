import 'reflect-metadata';
import {
  createDataSource,
  createDataSourceOptions,
  loadEnv,
  loadEnvFile,
} from 'durable-rest/program';
import { schema } from './src/schema.js';

// The data source of the TypeORM command line: the very options of the program.
loadEnvFile();

export default createDataSource(createDataSourceOptions(loadEnv(), schema));
