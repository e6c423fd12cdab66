import { pathToFileURL } from 'node:url';
import type { DataSource, EntityMetadata } from 'typeorm';

/** The commands that change the tables of a store without a migration. */
const DANGEROUS = ['schema:drop', 'schema:sync'];
/** The commands that use no store. */
const WITHOUT_STORE = ['migration:create', 'entity:create', 'subscriber:create', 'version'];
/** Lets a dangerous command change a store with rows. TypeORM does not know it. */
const CONFIRMATION = '--yes';

/**
 * Runs TypeORM's command line with the arguments of this process, on the data source of a module.
 * It refuses what would lose rows.
 *
 * @param file the path of the module whose default export is the data source
 * @example
 * ```ts
 * await start(async () => runTypeorm('dist/data-source.js'));
 * ```
 */
export async function runTypeorm(file: string): Promise<void> {
  const args = process.argv.slice(2).filter((argument) => argument !== CONFIRMATION);
  const isConfirmed = process.argv.includes(CONFIRMATION);
  const [command = ''] = args;
  const refusal = await findRefusal(command, file, isConfirmed);
  if (refusal !== undefined) {
    console.error(refusal);
    process.exitCode = 1;
    return;
  }
  if (command === 'cache:clear' && (await importDataSource(file)).options.cache === undefined) {
    // TypeORM would print an error, and leave its connections open.
    console.log('The data source has no cache');
    return;
  }
  const usesStore = command.includes(':') || command === 'query';
  if (usesStore && !WITHOUT_STORE.includes(command)) args.push('-d', file);
  process.argv.splice(2, Infinity, ...args);
  await import('typeorm/cli.js');
}

/** Finds out why a command must not be executed, if so. */
async function findRefusal(
  command: string,
  file: string,
  isConfirmed: boolean,
): Promise<string | undefined> {
  if (command === 'init') {
    return 'init would replace the files of this project, which has TypeORM already';
  }
  if (!DANGEROUS.includes(command)) return undefined;
  // Its module also loads .env.
  const dataSource = await importDataSource(file);
  if (process.env.NODE_ENV === 'production') {
    return `${command} is refused in production: migrations change the tables of a store`;
  }
  await dataSource.initialize();
  try {
    const rows = isConfirmed ? [] : await countRows(dataSource);
    return rows.length > 0 ? await describeChanges(dataSource, command, rows) : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await dataSource.destroy();
  }
}

async function importDataSource(file: string): Promise<DataSource> {
  const { default: dataSource } = (await import(pathToFileURL(file).href)) as {
    default: DataSource;
  };
  return dataSource;
}

/** Prints what a command would change, if anything. Resolves with the refusal then. */
async function describeChanges(
  dataSource: DataSource,
  command: string,
  rows: readonly string[],
): Promise<string | undefined> {
  const changes = await listChanges(dataSource, command);
  if (changes.length === 0) return undefined;
  console.log(`The store has ${rows.join(', ')}. ${command} would execute:`);
  for (const change of changes) console.log(`  ${change}`);
  return `Nothing was changed. To do it nevertheless, add ${CONFIRMATION}`;
}

/** Lists the tables that have rows, with their numbers. */
async function countRows(dataSource: DataSource): Promise<string[]> {
  const queryRunner = dataSource.createQueryRunner();
  const counts: string[] = [];
  for (const { tableName } of listTables(dataSource)) {
    if (!(await queryRunner.hasTable(tableName))) continue;
    const table = dataSource.createQueryBuilder(queryRunner).from(tableName, 'counted');
    const count = await table.select('COUNT(*)', 'rows').getRawOne<{ rows: unknown }>();
    if (Number(count?.rows) > 0) counts.push(`${String(count?.rows)} rows in ${tableName}`);
  }
  await queryRunner.release();
  return counts;
}

async function listChanges(dataSource: DataSource, command: string): Promise<string[]> {
  if (command === 'schema:drop') {
    return listTables(dataSource).map(({ tableName }) => `DROP TABLE "${tableName}"`);
  }
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  // The first one only names the engine.
  return upQueries.slice(1).map(({ query }) => query);
}

function listTables({ entityMetadatas }: DataSource): EntityMetadata[] {
  return entityMetadatas.filter(({ tableType }) => tableType !== 'view');
}
