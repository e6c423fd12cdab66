import {
  type ArgumentsHost,
  BadRequestException,
  Catch,
  ConflictException,
  type HttpException,
  ServiceUnavailableException,
} from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { ConstraintError, InvalidCursorError, StoreUnavailableError } from 'durable-store';

type StoreError = ConstraintError | InvalidCursorError | StoreUnavailableError;

/** Answers errors of the store as Nest answers its own exceptions. */
@Catch(ConstraintError, InvalidCursorError, StoreUnavailableError)
export class StoreErrorFilter extends BaseExceptionFilter {
  override catch(error: StoreError, host: ArgumentsHost): void {
    super.catch(toHttpException(error), host);
  }
}

function toHttpException(error: StoreError): HttpException {
  if (error instanceof InvalidCursorError) {
    return new BadRequestException(`after ${error.rule}`);
  }
  if (error instanceof ConstraintError) {
    return new ConflictException(`Taken or in use: ${error.properties.join(', ')}`);
  }
  return new ServiceUnavailableException('The store is unavailable; retry in a moment');
}
