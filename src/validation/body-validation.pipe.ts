import { Injectable, ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { GIVEN_TWICE } from '../http/json-members.js';

/** Checks what `@JsonBody()` read against the rules of its class. */
@Injectable()
export class BodyValidationPipe extends ValidationPipe {
  constructor() {
    super({ transform: true, validateCustomDecorators: true, exceptionFactory: invalidBody });
  }
}

function invalidBody(errors: ValidationError[]): ApiError {
  const faults = errors.flatMap((error) => faultsOf(error));
  return new ApiError(ErrorCatalogue.INVALID_BODY, `The body is not valid: ${faults.join('; ')}`);
}

function faultsOf(error: ValidationError, parent = ''): string[] {
  const path = parent + error.property;
  if (error.children?.length) {
    return error.children.flatMap((child) => faultsOf(child, `${path}.`));
  }
  if (error.value === undefined) return [`${path} is missing`];
  if (error.value === GIVEN_TWICE) return [`${path} is given more than once`];
  return Object.values(error.constraints ?? {}).map((message) => parent + message);
}
