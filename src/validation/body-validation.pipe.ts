import { type ArgumentMetadata, Injectable, type Type, ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { GIVEN_TWICE } from '../http/json-members.js';
import { flatRules } from './flat-rules.js';

/** Checks what `@JsonBody()` read against the rules of its class. */
@Injectable()
export class BodyValidationPipe extends ValidationPipe {
  private readonly flatRules = new Map<Type, ReturnType<typeof flatRules>>();

  constructor() {
    super({ transform: true, validateCustomDecorators: true, exceptionFactory: invalidBody });
  }

  /** @throws ApiError 40002 */
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const { metatype } = metadata;
    if (metatype !== undefined && value instanceof metatype) {
      const keepsRules = this.flatRulesOf(metatype as Type<object>);
      if (keepsRules?.(value as Record<string, unknown>) === true) return value;
    }
    return (await super.transform(value, metadata)) as unknown;
  }

  private flatRulesOf(dto: Type<object>): ReturnType<typeof flatRules> {
    if (!this.flatRules.has(dto)) this.flatRules.set(dto, flatRules(dto));
    return this.flatRules.get(dto);
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
