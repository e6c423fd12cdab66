import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Ended } from '../support/program.js';
import { ProjectCopy } from '../support/project-copy.js';
import { plant, useStore } from '../support/store.js';
import { ENGINE, TestStore } from 'durable-rest/testing';
import { Plant } from '../fixtures/plant.entity.js';
import { schema } from '../fixtures/schema.js';

// The commands of TypeORM's documentation, in a project of its own.

/** An entity as TypeORM's documentation writes it: decorators tell the types of its columns. */
const BED = `
import { Column, CreateDateColumn, Entity, Index, ManyToOne, PrimaryGeneratedColumn } from 'typeorm';
import { Plant } from './plant.entity.js';

@Entity('beds')
export class Bed {
  @PrimaryGeneratedColumn()
  id!: number;

  @Index()
  @Column()
  name!: string;

  @Column({ default: true })
  isOpen!: boolean;

  @CreateDateColumn()
  createdAt!: Date;

  @ManyToOne(() => Plant, { onDelete: 'CASCADE' })
  plant!: Plant;
}
`;

let project: ProjectCopy;
let store: TestStore;

beforeAll(async () => {
  project = await ProjectCopy.create();
  store = await TestStore.create();
});

afterAll(async () => {
  await store.remove();
  await project.remove();
});

async function run(...args: readonly string[]): Promise<Ended> {
  return await project.typeorm({ DATABASE_URL: store.url }, ...args);
}

async function countPlants(): Promise<number> {
  return await useStore(store, (dataSource) => dataSource.getRepository(Plant).count());
}

type Case = [command: string, exitCode: number, output: RegExp];

const LAST = schema.migrations.at(-1)?.name ?? '';

const ON_A_STORE: Case[] = [
  ['migration:show', 0, /^\[ \] CreatePlants1763000000000$/m],
  ['migration:generate src/early', 1, /^The store lacks migrations .* migration:run$/m],
  ['migration:run', 0, new RegExp(`${LAST} has been executed successfully`)],
  ['migration:show', 0, /^\[X\] 1 CreatePlants1763000000000$/m],
  ['schema:log', 0, /Your schema is up to date/],
  ['migration:generate src/nothing', 1, /No changes in database schema were found/],
  ['migration:revert', 0, new RegExp(`${LAST} has been reverted successfully`)],
  ['migration:run', 0, new RegExp(`${LAST} has been executed successfully`)],
  ['schema:sync', 0, /Schema synchronization finished successfully/],
];
const ON_ANY_ENGINE: Case[] = [
  ['version', 0, /0\.3\.31/],
  ['migration:create src/empty', 0, /src\/\d+-empty\.ts has been generated successfully/],
  ['entity:create src/fern', 0, /fern\.ts has been created successfully/],
  ['subscriber:create src/ferns', 0, /ferns\.ts has been created successfully/],
  ['cache:clear', 0, /has no cache/],
  ['init', 1, /would replace the files of this project/],
  ['nonsense', 1, /Unknown argument: nonsense/],
];

/** Each is run after those before it. */
it.each([...ON_A_STORE, ...(ENGINE === 'sqlite' ? ON_ANY_ENGINE : [])])(
  '%s ends with %s',
  async (command, exitCode, text) => {
    const ended = await run(...command.split(' '));
    expect(ended.output + ended.errors).toMatch(text);
    expect(ended.exitCode).toBe(exitCode);
  },
);

describe('a store with plants', () => {
  beforeAll(async () => {
    await useStore(store, (dataSource) => dataSource.getRepository(Plant).save([plant(1)]));
  });

  it('gets the table of a new entity, whose migration is generated', async () => {
    await project.add('entities', 'src/bed.entity.ts', BED);
    const generated = await run('migration:generate', 'src/create-beds');
    expect(generated).toMatchObject({ exitCode: 0, errors: '' });
    const code = await project.listMigration('src/create-beds');
    expect(code).toContain('CREATE TABLE "beds"');
    expect(code).not.toMatch(/CREATE TABLE "(?!beds|temporary_beds)|(?:ALTER|DROP) TABLE "plants"/);
    expect(await run('migration:run')).toMatchObject({ exitCode: 0 });
    const insert = `INSERT INTO beds (name, "plantId") VALUES ('north', 1)`;
    expect(await run('query', insert)).toMatchObject({ exitCode: 0 });
    expect((await run('schema:log')).output).toMatch(/up to date/);
    expect((await run('query', 'SELECT name FROM beds')).output).toMatch(/name: 'north'/);
    expect((await run('migration:revert')).exitCode).toBe(0);
  });

  it.each([
    ['schema:sync', /1 rows in plants.*schema:sync would execute:[^]*CREATE TABLE "beds"/],
    ['schema:drop', /1 rows in plants.*schema:drop would execute:[^]*DROP TABLE "plants"/],
  ])('is not changed by %s, which prints what it would do', async (command, text) => {
    const { output, errors, exitCode } = await run(command);
    expect(output).toMatch(text);
    expect(errors).toMatch(/^Nothing was changed\. To do it nevertheless, add --yes$/m);
    expect(exitCode).toBe(1);
    expect(await countPlants()).toBe(1);
  });

  it('refuses schema:drop in production', async () => {
    const env = { DATABASE_URL: store.url, NODE_ENV: 'production', ACCESS_TOKENS: 'x'.repeat(32) };
    const { errors, exitCode } = await project.typeorm(env, 'schema:drop', '--yes');
    expect(errors).toMatch(/is refused in production/);
    expect(exitCode).toBe(1);
    expect(await countPlants()).toBe(1);
  });

  it('is emptied by schema:drop that is confirmed', async () => {
    expect(await run('schema:drop', '--yes')).toMatchObject({ exitCode: 0, errors: '' });
    expect((await run('migration:show')).output).toMatch(/^\[ \] CreatePlants1763000000000$/m);
  });
});
