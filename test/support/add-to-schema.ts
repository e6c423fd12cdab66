import type { Schema } from '../../src/platform/database/data-source/data-source-options.js';
import { schema } from '../../src/schema.js';

/** Adds the tables of a feature of the tests to the program's, for the rest of a test file. */
export function addToSchema({ entities, migrations }: Schema): void {
  Object.assign(schema, {
    entities: [...schema.entities, ...entities],
    migrations: [...schema.migrations, ...migrations],
  });
}
