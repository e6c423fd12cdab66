import './load-typescript.mjs';

// npm run typeorm -- <command>: TypeORM's command line, with the store of ormconfig.ts.

/** The commands that change the tables of a store without a migration. */
const DANGEROUS = ['schema:drop', 'schema:sync'];
/** The commands that use no store. */
const WITHOUT_STORE = ['migration:create', 'entity:create', 'subscriber:create', 'version'];
/** Lets a dangerous command change a store with rows. TypeORM does not know it. */
const CONFIRMATION = '--yes';

const args = process.argv.slice(2).filter((argument) => argument !== CONFIRMATION);
const [command = ''] = args;
const isConfirmed = process.argv.includes(CONFIRMATION);

const { start } = await import('durable-rest/start');

await start(async () => {
  if (command === 'init') {
    fail('init would replace the files of this project, which has TypeORM already');
  } else if (command === 'cache:clear' && !(await hasCache())) {
    // TypeORM would print an error, and leave its connections open.
    console.log('The data source of ormconfig.ts has no cache');
  } else {
    if (DANGEROUS.includes(command)) await confirm();
    if (process.exitCode === undefined) await run();
  }
});

async function run() {
  const usesStore = command.includes(':') || command === 'query';
  if (usesStore && !WITHOUT_STORE.includes(command)) args.push('-d', 'ormconfig.ts');
  process.argv.splice(2, Infinity, ...args);
  await import('typeorm/cli.js');
}

async function hasCache() {
  const { default: dataSource } = await import('../ormconfig.ts');
  return dataSource.options.cache !== undefined;
}

/** Prints the effect of a command on a store with rows, and requires that it is confirmed. */
async function confirm() {
  const { default: dataSource } = await import('../ormconfig.ts');
  if (process.env.NODE_ENV === 'production') {
    fail(`${command} is refused in production: migrations change the tables of a store`);
    return;
  }
  await dataSource.initialize();
  try {
    const counts = await countRows(dataSource);
    if (counts.length > 0 && !isConfirmed) await refuse(dataSource, counts);
  } catch ({ message }) {
    fail(message);
  } finally {
    await dataSource.destroy();
  }
}

/** Prints what the command would change, if anything. */
async function refuse(dataSource, counts) {
  const changes = await listChanges(dataSource);
  if (changes.length === 0) return;
  console.log(`The store has ${counts.join(', ')}. ${command} would execute:`);
  for (const change of changes) console.log(`  ${change}`);
  fail(`Nothing was changed. To do it nevertheless, add ${CONFIRMATION}`);
}

/** Lists the tables that have rows, with their numbers. */
async function countRows(dataSource) {
  const queryRunner = dataSource.createQueryRunner();
  const counts = [];
  for (const { tableName } of listTables(dataSource)) {
    if (!(await queryRunner.hasTable(tableName))) continue;
    const table = dataSource.createQueryBuilder(queryRunner).from(tableName, 'counted');
    const { rows } = await table.select('COUNT(*)', 'rows').getRawOne();
    if (Number(rows) > 0) counts.push(`${rows} rows in ${tableName}`);
  }
  await queryRunner.release();
  return counts;
}

async function listChanges(dataSource) {
  if (command === 'schema:drop') {
    return listTables(dataSource).map(({ tableName }) => `DROP TABLE "${tableName}"`);
  }
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  // The first one only names the engine.
  return upQueries.slice(1).map(({ query }) => query);
}

function listTables({ entityMetadatas }) {
  return entityMetadatas.filter(({ tableType }) => tableType !== 'view');
}

function fail(line) {
  console.error(line);
  process.exitCode = 1;
}
