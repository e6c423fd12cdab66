import 'reflect-metadata';
import { loadEnvFile } from './src/platform/config/env-file.js';
import { loadEnv } from './src/platform/config/env.js';
import {
  createDataSource,
  createDataSourceOptions,
} from './src/platform/database/data-source/open-database.js';
import { schema } from './src/schema.js';

// The data source of the TypeORM command line: the very options of the program.
loadEnvFile();

export default createDataSource(createDataSourceOptions(loadEnv(), schema));
