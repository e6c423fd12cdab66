import { describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { TestApp } from '../support/test-app.js';

describe.each(['on', 'off'])('a new store with CHANGE_FEED=%s', (CHANGE_FEED) => {
  const app = TestApp.forAll({ CHANGE_FEED });

  it('has the tables of the entities, which the migrations have made', async () => {
    const { upQueries } = await app.nest.get(DataSource).driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  });
});
