import 'reflect-metadata';
import { loadEnvFile } from './src/config/env-file.js';
import { loadEnv } from './src/config/env.js';
import { dataSourceOptions } from './src/database/data-source-options.js';
import { createDataSource } from './src/database/open-database.js';
import { schema } from './src/schema.js';

// The data source of the TypeORM command line: the very options of the program.
loadEnvFile();

export default createDataSource(dataSourceOptions(loadEnv(), schema));
