import { defineErrors } from '../../../src/platform/errors/error-catalogue.js';

export const PlantingErrors = defineErrors(
  { feature: 'plantings', numbers: [90, 98] },
  {
    PLANTING_NOT_FOUND: {
      error: 40490,
      message: 'There is no planting with this key',
      when: 'there is no planting with this key',
      advice: 'Create the planting first. After the retry of a DELETE, take this as success.',
    },

    KEY_IN_USE: {
      error: 40990,
      message: 'The key is in use by a different planting',
      when: 'the key is in use by a different planting',
      advice: 'Choose another key.',
    },
    ALREADY_EXISTS: {
      error: 40991,
      message: 'This very planting already exists',
      when: 'this very planting already exists',
      advice: 'After a retry, take this as success.',
    },
    NO_SUCH_GARDEN: {
      error: 40992,
      message: 'There is no garden with this gardenId',
      when: 'there is no garden with this gardenId',
      advice: 'Create the garden first.',
    },
    NO_SUCH_PLANT: {
      error: 40993,
      message: 'There is no plant with this plantId',
      when: 'there is no plant with this plantId',
      advice: 'Create the plant first.',
    },
    QUANTITY_OUT_OF_RANGE: {
      error: 40994,
      message: 'A quantity would be less than 0 or greater than 2147483647',
      when: 'a quantity would be less than 0 or greater than 2147483647',
      advice: 'Move fewer.',
    },
  },
);
