// The names for what a service runs: its program, its commands and its documents.

// The application and its program
export { BearerGuard } from './requests/bearer.guard.js';
export { ErrorFilter } from './server/error.filter.js';
export { PlatformModule } from './program/platform.module.js';
export { ChangesModule } from './changes/changes.module.js';
export { createApplication } from './program/create-application.js';
export { runProgram } from './program/run-program.js';

// Settings
export type { Service } from './config/service.js';
export { Env, loadEnv } from './config/env.js';
export { loadEnvFile } from './config/env-file.js';
export { setDefault } from './config/setting.decorators.js';

// The store and its commands
export { createDataSource, platformSchema, type Schema } from 'durable-store';
export { createDataSourceOptions } from './store/data-source-options.js';
export { backUpStore } from './commands/db-backup.js';
export { checkStore } from './commands/db-check.js';
export { copyStores } from './commands/db-copy.js';
export { printNewToken } from './commands/new-token.js';
export { runTypeorm } from './commands/typeorm.js';

// Documents
export { buildOpenApi } from './openapi/build-openapi.js';
export { listMetrics } from './health/metrics.controller.js';
export { getStatus, listErrors } from './errors/error-catalogue.js';
