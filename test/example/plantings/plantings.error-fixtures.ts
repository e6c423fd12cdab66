import type { ErrorFixtures } from '../../support/error-fixtures.js';
import { type Members, writeMembers } from '../../support/members.js';
import type { Answer, TestApp } from '../../support/test-app.js';
import { createGarden } from '../gardens/gardens.error-fixtures.js';
import { createPlant } from '../../../src/modules/plants/plants.error-fixtures.js';
import { PlantingErrors } from './plantings.errors.js';

/** Makes the members of a new planting as JSON, which differ for each number from 1 to 9. */
export async function makePlanting(app: TestApp, n: number): Promise<Members> {
  return {
    gardenId: await createGarden(app, n),
    plantId: await createPlant(app, n),
    plantedOn: `"2026-01-0${n}"`,
    quantity: `${n}`,
  };
}

function post(app: TestApp, members: Members): Promise<Answer> {
  return app.post('/plantings', writeMembers(members));
}

export default {
  entries: PlantingErrors,
  causes: {
    PLANTING_NOT_FOUND: (app) => app.get('/plantings/00000000-0000-4000-8000-000000000404/404'),
    KEY_IN_USE: async (app) => {
      const first = await makePlanting(app, 1);
      await post(app, first);
      return await post(app, {
        ...(await makePlanting(app, 2)),
        gardenId: first.gardenId,
        plantId: first.plantId,
      });
    },
    ALREADY_EXISTS: async (app) => {
      const first = await makePlanting(app, 1);
      await post(app, first);
      return await post(app, first);
    },
    NO_SUCH_GARDEN: async (app) =>
      post(app, {
        ...(await makePlanting(app, 1)),
        gardenId: '"00000000-0000-4000-8000-000000000404"',
      }),
    NO_SUCH_PLANT: async (app) => post(app, { ...(await makePlanting(app, 1)), plantId: '404' }),
    QUANTITY_OUT_OF_RANGE: async (app) => {
      const { gardenId, ...planting } = await makePlanting(app, 1);
      await post(app, { gardenId, ...planting });
      const gardens = { fromGardenId: gardenId, toGardenId: await createGarden(app, 2) };
      return await app.post(
        '/plantings/moves',
        writeMembers({ ...planting, ...gardens, quantity: '2' }),
      );
    },
  },
} satisfies ErrorFixtures<typeof PlantingErrors>;
