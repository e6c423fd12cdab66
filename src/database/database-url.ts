export const DATABASE_URL_RULE =
  'must be sqlite: followed by the path of a file, or sqlite::memory:';

const SQLITE_URL = /^sqlite:(.+)$/;

/** Where the store is. The path is relative to the current folder; `:memory:` is a store that does not last. */
export interface SqliteUrl {
  readonly type: 'sqlite';
  readonly path: string;
}

export function parseDatabaseUrl(url: string): SqliteUrl | undefined {
  const path = SQLITE_URL.exec(url)?.[1];
  return path === undefined ? undefined : { type: 'sqlite', path };
}
