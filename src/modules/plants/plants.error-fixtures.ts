import { PlantErrors } from './plants.errors.js';
import type { ErrorFixtures } from '../../../test/support/error-fixtures.js';
import type { TestApp } from '../../../test/support/test-app.js';

/** Creates a plant, another one for each number. Resolves with its id as JSON. */
export async function createPlant(app: TestApp, n: number): Promise<string> {
  await app.create(`{"id":${n},"name":"n"}`);
  return String(n);
}

export default {
  entries: PlantErrors,
  causes: {
    PLANT_NOT_FOUND: (app) => app.get('/plants/7'),
    ID_IN_USE: async (app) => {
      await app.create('{"id":1,"name":"other"}');
      return await app.create('{"id":1,"name":"n"}');
    },
    ALREADY_EXISTS: async (app) => {
      await app.create('{"id":1,"name":"n"}');
      return await app.create('{"id":1,"name":"n"}');
    },
  },
} satisfies ErrorFixtures<typeof PlantErrors>;
