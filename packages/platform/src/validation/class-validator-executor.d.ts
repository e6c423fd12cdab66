/** class-validator has types for this file, but in another folder, and the methods are private there. */
declare module 'class-validator/cjs/validation/ValidationExecutor.js' {
  import type { ValidationError, Validator, ValidatorOptions } from 'class-validator';
  import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';

  export class ValidationExecutor {
    awaitingPromises: Promise<unknown>[];
    ignoreAsyncValidations: boolean;
    constructor(validator: Validator, options?: ValidatorOptions);
    execute(object: object, targetSchema: string, errors: ValidationError[]): void;
    stripEmptyErrors(errors: ValidationError[]): ValidationError[];
    performValidations(
      object: object,
      value: unknown,
      propertyName: string,
      definedMetadatas: readonly ValidationMetadata[],
      metadatas: readonly ValidationMetadata[],
      errors: ValidationError[],
    ): void;
    generateValidationError(object: object, value: unknown, propertyName: string): ValidationError;
    conditionalValidations(
      object: object,
      value: unknown,
      metadatas: readonly ValidationMetadata[],
    ): boolean;
    customValidations(
      object: object,
      value: unknown,
      metadatas: readonly ValidationMetadata[],
      error: ValidationError,
    ): void;
    createValidationError(
      object: object,
      value: unknown,
      metadata: ValidationMetadata,
      constraint: unknown,
    ): [type: string, message: string];
  }
}
