import 'reflect-metadata';
import { existsSync } from 'node:fs';
import { loadEnv } from './src/config/env.js';
import { dataSourceOptions } from './src/database/data-source-options.js';
import { SqliteDataSource } from './src/database/sqlite-data-source.js';

// The data source of the TypeORM command line: the very options of the program.
if (existsSync('.env')) process.loadEnvFile('.env');

export default new SqliteDataSource(dataSourceOptions(loadEnv().DATABASE_URL));
