import { QueryFailedError } from 'typeorm';

/** The store failed, or was not free in time. No statement is at fault. */
export class StoreUnavailableError extends QueryFailedError {
  constructor(reason: Error) {
    super('', [], reason);
  }
}
