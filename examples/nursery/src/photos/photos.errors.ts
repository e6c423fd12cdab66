import { defineErrors } from 'durable-rest';

export const PhotoErrors = defineErrors({
  PHOTO_NOT_FOUND: {
    error: 404911,
    message: 'This variety has no photo',
    advice: 'Send a photo first. After the retry of a DELETE, take this as success.',
  },
  VARIETY_NOT_FOUND: {
    error: 404912,
    message: 'There is no variety with this id',
    advice: 'Create the variety first.',
  },
  NOT_A_PHOTO: {
    error: 415911,
    message: 'The first bytes of the body are neither those of a JPEG nor those of a PNG',
    advice: 'Send a JPEG or a PNG.',
  },
});
