import { createPlant } from '../../../src/modules/plants/plants.error-fixtures.js';
import type { ErrorFixtures } from '../../support/error-fixtures.js';
import { type Members, oncePerApp, pathTo, writeMembers } from '../../support/members.js';
import type { Answer, TestApp } from '../../support/test-app.js';
import { GardenErrors } from './gardens.errors.js';

/** Makes the members of a new garden as JSON, which differ for each number from 1 to 9. */
export function makeGarden(n: number): Members {
  return {
    name: `"${n}"`,
    kind: `"${n % 2 === 0 ? 'flower' : 'herb'}"`,
    area: `${n}.50`,
    openedAt: `"2026-01-0${n}T10:00:00.000Z"`,
    note: `"${n}"`,
    details: `{"n":${n}}`,
  };
}

/** Creates a garden once for each number, and resolves with its id as JSON. */
export function createGarden(app: TestApp, n: number): Promise<string> {
  return oncePerApp(app, `garden ${n}`, async () => {
    const { text } = await post(app, makeGarden(n));
    return /"id":("[^"]*"|-?\d+)/.exec(text)?.[1] ?? '';
  });
}

function post(app: TestApp, members: Members): Promise<Answer> {
  return app.post('/gardens', writeMembers(members));
}

export default {
  entries: GardenErrors,
  causes: {
    GARDEN_NOT_FOUND: (app) => app.get('/gardens/00000000-0000-4000-8000-000000000404'),
    NAME_IN_USE: async (app) => {
      const first = makeGarden(1);
      await post(app, first);
      return await post(app, { ...makeGarden(2), name: first.name });
    },
    GARDEN_IN_USE: async (app) => {
      const id = await createGarden(app, 1);
      const planting = { gardenId: id, plantId: await createPlant(app, 1) };
      const others = { plantedOn: '"2026-01-01"', quantity: '1' };
      await app.post('/plantings', writeMembers({ ...planting, ...others }));
      return await app.delete(pathTo('gardens', { id }));
    },
  },
} satisfies ErrorFixtures<typeof GardenErrors>;
