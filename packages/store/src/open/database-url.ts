import { type PostgresUrl, SSL_MODES } from '../postgres/postgres-options.js';

const PARAMETERS = new Set(['host', 'sslmode', 'sslrootcert']);

/** The path is relative to the current folder; `:memory:` is a temporary file. */
interface SqliteUrl {
  readonly type: 'sqlite';
  readonly path: string;
}

/**
 * Parses the URL of a store; undefined if it is not valid.
 *
 * @example
 * ```ts
 * const url = parseDatabaseUrl('sqlite:data/store.db');
 * if (url?.type === 'sqlite') console.log(url.path);
 * ```
 */
export function parseDatabaseUrl(url: string): SqliteUrl | PostgresUrl | undefined {
  const path = /^sqlite:(.+)$/.exec(url)?.[1];
  if (path !== undefined) return { type: 'sqlite', path };
  return /^postgres(ql)?:\/\//.test(url) && URL.canParse(url)
    ? parsePostgresUrl(new URL(url))
    : undefined;
}

function parsePostgresUrl(url: URL): PostgresUrl | undefined {
  const { searchParams } = url;
  const host = searchParams.get('host') ?? decode(url.hostname.replace(/^\[(.*)\]$/, '$1'));
  const username = decode(url.username);
  const password = decode(url.password);
  const database = decode(url.pathname.slice(1));
  const sslMode = SSL_MODES.find((mode) => mode === (searchParams.get('sslmode') ?? 'disable'));
  const areKnown = [...searchParams.keys()].every((name) => PARAMETERS.has(name));
  const isComplete = host && username && password !== undefined && database && sslMode;
  // A URL loses what follows a #, which may belong to a password or a name.
  if (!isComplete || !areKnown || url.hash !== '') return undefined;
  return {
    type: 'postgres',
    host,
    port: Number(url.port || 5432),
    username,
    password,
    database,
    sslMode,
    sslRootCert: searchParams.get('sslrootcert') ?? undefined,
  };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
