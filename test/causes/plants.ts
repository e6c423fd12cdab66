import { PlantErrors } from '../../src/modules/plants/plants.errors.js';
import type { ErrorCauses } from '../support/error-causes.js';

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
} satisfies ErrorCauses<typeof PlantErrors>;
