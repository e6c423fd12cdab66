import { afterAll } from '@jest/globals';
import type { Schema } from '../../src/platform/database/data-source/open-database.js';
import { schema } from '../../src/schema.js';

/** Adds the tables of a feature of the tests to the program's until the test file ends. */
export function addToSchema({ entities, migrations }: Schema): void {
  const own = { ...schema };
  Object.assign(schema, {
    entities: [...schema.entities, ...entities],
    migrations: [...schema.migrations, ...migrations],
  });
  afterAll(() => void Object.assign(schema, own));
}
