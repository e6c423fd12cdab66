import { defineErrors } from 'durable-rest';

export const PlantErrors = defineErrors({
  PLANT_NOT_FOUND: {
    error: 40401,
    message: 'There is no plant with this id',
    advice: 'Create the plant first. After the retry of a DELETE, take this as success.',
  },
  ID_IN_USE: {
    error: 40900,
    message: 'The id is in use by a different plant',
    advice:
      'Choose another id. After a retry, first read the plant: it may be yours, and may have changed since.',
  },
  ALREADY_EXISTS: {
    error: 40901,
    message: 'This very plant, with the same id, name and tag, already exists',
    advice: 'After a retry, take this as success.',
    isRetry: true,
  },
});
