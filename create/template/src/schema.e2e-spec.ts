import { expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { TestApp } from '../test/support/test-app.js';

const app = TestApp.forAll();

it('the migrations make the tables that the entities need', async () => {
  const { upQueries } = await app.nest.get(DataSource).driver.createSchemaBuilder().log();
  expect(upQueries.map(({ query }) => query)).toEqual([]);
});
