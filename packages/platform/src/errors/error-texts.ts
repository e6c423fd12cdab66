import { ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';

class ErrorTexts extends ValidationPipe {
  list(errors: ValidationError[]): string[] {
    return this.flattenValidationErrors(errors);
  }
}

const errorTexts = new ErrorTexts();

/** Lists the texts of errors as Nest does, each with the path of its member. */
export function listErrorTexts(errors: ValidationError[]): string[] {
  return errorTexts.list(errors);
}
