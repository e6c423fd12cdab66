import { defineErrors } from 'durable-rest';

export const PlantingErrors = defineErrors({
  PLANTING_NOT_FOUND: {
    error: 404901,
    message: 'There is no planting with this key',
    advice: 'Create the planting first. After the retry of a DELETE, take this as success.',
  },

  KEY_IN_USE: {
    error: 409901,
    message: 'The key is in use by a different planting',
    advice: 'Choose another key.',
  },
  ALREADY_EXISTS: {
    error: 409902,
    message: 'This very planting already exists',
    advice: 'After a retry, take this as success.',
    isRetry: true,
  },
  NO_SUCH_VARIETY: {
    error: 409904,
    message: 'There is no variety with this varietyId',
    advice: 'Create the variety first.',
  },
  QUANTITY_OUT_OF_RANGE: {
    error: 409905,
    message: 'A quantity would be less than 0 or greater than 2147483647',
    advice: 'Take fewer.',
  },
});
