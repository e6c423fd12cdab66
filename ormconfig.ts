import 'reflect-metadata';
import { existsSync } from 'node:fs';
import { loadEnv } from './src/config/env.js';
import { dataSourceOptions } from './src/database/data-source-options.js';
import { createDataSource } from './src/database/open-database.js';
import { schema } from './src/schema.js';

// The data source of the TypeORM command line: the very options of the program.
if (existsSync('.env')) process.loadEnvFile('.env');

export default createDataSource(dataSourceOptions(loadEnv(), schema));
