import { type ArgumentMetadata, Injectable, type Type, ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { GIVEN_TWICE } from '../json/json-members.js';
import { compileValidator } from './compile-validator.js';

/** Checks what `@JsonBody()` read against the rules of its class. */
@Injectable()
export class BodyValidationPipe extends ValidationPipe {
  private readonly compileValidator = new Map<Type, ReturnType<typeof compileValidator>>();

  constructor() {
    super({ transform: true, validateCustomDecorators: true, exceptionFactory: invalidBody });
  }

  /** @throws ApiError 40002 */
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const { metatype } = metadata;
    if (metatype !== undefined && value instanceof metatype) {
      const keepsRules = this.validatorOf(metatype as Type<object>);
      if (keepsRules?.(value as Record<string, unknown>) === true) return value;
    }
    return (await super.transform(value, metadata)) as unknown;
  }

  private validatorOf(dto: Type<object>): ReturnType<typeof compileValidator> {
    if (!this.compileValidator.has(dto)) this.compileValidator.set(dto, compileValidator(dto));
    return this.compileValidator.get(dto);
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
