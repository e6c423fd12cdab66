import { parseDatabaseUrl } from 'durable-store';
import type { Format } from './setting.decorators.js';

export const DEFAULT_DATABASE_URL = 'sqlite:data/store.db';

/** The URL of a store, which {@link parseDatabaseUrl} reads. */
export const DATABASE_URL: Format<string> = {
  must: 'must be sqlite: and the path of a file, as in sqlite:data/store.db, or sqlite::memory:, or a postgres:// URL with a user, a host and a database, and no parameters but host, sslmode (disable, require, verify-ca or verify-full) and sslrootcert; write # as %23',
  parse: (text) => (parseDatabaseUrl(text) === undefined ? undefined : text),
};
