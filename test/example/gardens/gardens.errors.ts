import { defineErrors } from '../../../src/platform/errors/error-catalogue.js';

export const GardenErrors = defineErrors(
  { feature: 'gardens', numbers: [80, 89] },
  {
    GARDEN_NOT_FOUND: {
      error: 40480,
      message: 'There is no garden with this id',
      when: 'there is no garden with this id',
      advice: 'Create the garden first. After the retry of a DELETE, take this as success.',
    },

    NAME_IN_USE: {
      error: 40982,
      message: 'The name is in use by another garden',
      when: 'the name is in use by another garden',
      advice: 'Choose another name.',
    },
    GARDEN_IN_USE: {
      error: 40983,
      message: 'There are plantings in this garden',
      when: 'there are plantings in this garden',
      advice: 'Move or remove the plantings first.',
    },
  },
);
