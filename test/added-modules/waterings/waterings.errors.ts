import { defineErrors } from 'durable-rest';

export const WateringErrors = defineErrors({
  WATERING_NOT_FOUND: {
    error: 404501,
    message: 'There is no watering with this id',
    advice: 'Create it first.',
  },
  ALREADY_WATERED: {
    error: 409501,
    message: 'The plant is watered on that day already',
    advice: 'Change that watering.',
  },
  NO_SUCH_PLANT: {
    error: 409502,
    message: 'There is no such plant',
    advice: 'Create the plant first.',
  },
});
