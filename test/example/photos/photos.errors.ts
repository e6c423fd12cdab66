import { defineErrors } from '../../../src/platform/errors/error-catalogue.js';

export const PhotoErrors = defineErrors({
  PHOTO_NOT_FOUND: {
    error: 404911,
    message: 'This plant has no photo',
    advice: 'Send a photo first. After the retry of a DELETE, take this as success.',
  },
  NOT_A_PHOTO: {
    error: 415911,
    message: 'The first bytes of the body are neither those of a JPEG nor those of a PNG',
    advice: 'Send a JPEG or a PNG.',
  },
});
