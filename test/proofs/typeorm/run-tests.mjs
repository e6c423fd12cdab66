import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { relative } from 'node:path';
import { createDataSource, createDataSourceOptions } from 'durable-rest/program';

// node run-tests.mjs stock|ours sqlite|postgres <file>...
// Runs compiled tests of TypeORM in the current folder. With `ours`, each data source of the engine
// that a test makes is that of the program. Appends a line for each test to results.ndjson.

/** How long a test may take, in milliseconds. */
const TIMEOUT = 25_000;

const [driver, engine, ...files] = process.argv.slice(2);
const require = createRequire(`${process.cwd()}/`);
const module = require('typeorm/data-source/DataSource.js');
const { DataSource } = module;
/** How many data sources of the engine have been made. */
let made = 0;

/** The options of the program, and then those of the test. */
function createOurs(options) {
  const { database, host, port, username, password } = options;
  const url =
    engine === 'sqlite'
      ? `sqlite:${database}`
      : `postgres://${username}:${password}@${host}:${port}/${database}`;
  const env = { DATABASE_URL: url, DATABASE_POOL_SIZE: 4, TRANSACTION_TIMEOUT_MS: 10_000 };
  const schema = { entities: undefined, migrations: undefined };
  const own = createDataSourceOptions(env, schema);
  // It would win over a name in the test's `extra`.
  delete own.applicationName;
  delete own.migrationsTransactionMode;
  return createDataSource({ ...own, ...options, extra: { ...own.extra, ...options.extra } });
}

module.DataSource = new Proxy(DataSource, {
  construct(target, [options], newTarget) {
    if (options?.type === engine) {
      made++;
      if (driver === 'ours' && newTarget === module.DataSource) return createOurs(options);
    }
    return Reflect.construct(target, [options], newTarget);
  },
});

class Reporter {
  constructor(runner) {
    const write = (test, error) => {
      const file = relative(`${process.cwd()}/test`, test.file ?? test.parent?.file ?? '');
      const failure = error === undefined ? undefined : `${error.name}: ${error.message}`;
      const line = { file, title: test.fullTitle(), failure, made };
      appendFileSync('results.ndjson', `${JSON.stringify(line)}\n`);
    };
    runner.on('pass', (test) => write(test));
    runner.on('fail', (test, error) => write(test, error));
  }
}

require('./test/utils/test-setup.js');
const Mocha = require('mocha');
const mocha = new Mocha({ reporter: Reporter, timeout: TIMEOUT });
for (const file of files) mocha.addFile(file);
mocha.run(() => process.exit());
