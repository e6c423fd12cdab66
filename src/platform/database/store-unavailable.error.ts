import { QueryFailedError } from 'typeorm';

/** A statement of TypeORM failed because of the store, not because of its SQL. */
export class StoreUnavailableError extends QueryFailedError {}
