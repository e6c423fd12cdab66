import { QueryFailedError } from 'typeorm';

/** A statement of TypeORM failed because of the store, and not because of what it says. */
export class StoreUnavailableError extends QueryFailedError {}
