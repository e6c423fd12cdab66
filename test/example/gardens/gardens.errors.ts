import { defineErrors } from '../../../src/platform/errors/error-catalogue.js';

export const GardenErrors = defineErrors({
  GARDEN_NOT_FOUND: {
    error: 404801,
    message: 'There is no garden with this id',
    advice: 'Create the garden first. After the retry of a DELETE, take this as success.',
  },

  NAME_IN_USE: {
    error: 409801,
    message: 'The name is in use by another garden',
    advice: 'Choose another name.',
  },
  GARDEN_IN_USE: {
    error: 409802,
    message: 'There are plantings in this garden',
    advice: 'Move or remove the plantings first.',
  },
});
