import { ApiError } from './api-error.js';
import { ErrorCatalogue } from './error-catalogue.js';

/** @param allow the methods that the path takes, as in an `Allow` header (RFC 9110 section 15.5.6) */
export function methodNotAllowed(allow: string): ApiError {
  return new ApiError(ErrorCatalogue.METHOD_NOT_ALLOWED, `This path takes ${allow}`, {
    Allow: allow,
  });
}
