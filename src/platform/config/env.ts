import { IsIn, isFQDN, isIP } from 'class-validator';
import {
  DATABASE_URL_RULE,
  DATABASE_URL_SCHEME_RULE,
  DEFAULT_DATABASE_URL,
  hasDatabaseScheme,
  parseDatabaseUrl,
} from './database-url.js';
import {
  DURATION_RULE,
  isJwksUrl,
  isScopeList,
  isTokenEntry,
  isVisibleAscii,
  JWKS_URL_RULE,
  parseDuration,
  parseRate,
  parseTrustedProxies,
  PROXIES_RULE,
  RATE_RULE,
  SCOPES_RULE,
  splitList,
  TOKENS_RULE,
} from './setting-formats.js';
import {
  EnvError,
  loadSettings,
  registerSettings,
  Rule,
  WholeNumber,
} from './setting.decorators.js';

export { EnvError };

const NODE_ENVS = ['development', 'test', 'production'] as const;
const SWITCH = ['on', 'off'] as const;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const PROVIDER = ['AUTH_JWKS_URL', 'AUTH_ISSUER', 'AUTH_AUDIENCE'] as const;

/** How long a request may wait for its turn or for the store before it gets 503. Not a setting. */
export const WAIT_TIMEOUT_MS = 5_000;

/**
 * The configuration: one property for each environment variable, read and checked once at start.
 */
export class Env {
  /** `production` requires configured tokens. */
  @IsIn(NODE_ENVS, { message: `must be one of ${NODE_ENVS.join(', ')}` })
  readonly NODE_ENV: (typeof NODE_ENVS)[number] = 'development';

  /** The address to listen on. */
  @Rule('must be an IP address or a host name', isHost)
  readonly HOST: string = '127.0.0.1';

  /** The port to listen on; 0 takes a free one. */
  @WholeNumber(0, 65_535)
  readonly PORT: number = 3000;

  /** The database that stores the rows. */
  @Rule(DATABASE_URL_RULE, (value) => parseDatabaseUrl(value) !== undefined)
  @Rule(DATABASE_URL_SCHEME_RULE, hasDatabaseScheme)
  readonly DATABASE_URL: string = DEFAULT_DATABASE_URL;

  /** How many connections to a database server commit batches of rows. TypeORM has as many more. */
  @WholeNumber(1, 100)
  readonly DATABASE_POOL_SIZE: number = 4;

  /** How long a transaction of a module may last before it is rolled back, in milliseconds. */
  @WholeNumber(100, 3_600_000)
  readonly TRANSACTION_TIMEOUT_MS: number = 10_000;

  /** Whether the feed of changes is recorded and served. */
  @IsIn(SWITCH, { message: `must be one of ${SWITCH.join(', ')}` })
  readonly CHANGE_FEED: (typeof SWITCH)[number] = 'off';

  /** How long changes are kept. */
  @Rule(DURATION_RULE, (value) => parseDuration(value) !== undefined)
  readonly CHANGE_RETENTION: string = '7d';

  /** The tokens that clients may use, comma-separated. */
  @Rule(TOKENS_RULE, (value) => splitList(value).every(isTokenEntry))
  @Rule(
    'must hold a token when NODE_ENV is production and neither READ_ACCESS_TOKENS nor AUTH_JWKS_URL is set',
    (value, { NODE_ENV, READ_ACCESS_TOKENS, AUTH_JWKS_URL }: Env) =>
      NODE_ENV !== 'production' ||
      AUTH_JWKS_URL !== '' ||
      splitList(`${value},${READ_ACCESS_TOKENS}`).length > 0,
  )
  readonly ACCESS_TOKENS: string = '';

  /** The tokens that clients may use to read only, comma-separated. */
  @Rule(TOKENS_RULE, (value) => splitList(value).every(isTokenEntry))
  readonly READ_ACCESS_TOKENS: string = '';

  /**
   * The token of a development start without other tokens; empty for a random one at each start.
   */
  @Rule('must be in visible ASCII', (value) => value === '' || isVisibleAscii(value))
  readonly DEVELOPMENT_TOKEN: string = '';

  /** The identity provider whose access tokens clients may use: JWKS URL, issuer, audience. */
  @Rule(JWKS_URL_RULE, (value) => value === '' || isJwksUrl(value))
  @SetTogether(PROVIDER)
  readonly AUTH_JWKS_URL: string = '';

  @SetTogether(PROVIDER)
  readonly AUTH_ISSUER: string = '';

  @SetTogether(PROVIDER)
  readonly AUTH_AUDIENCE: string = '';

  /** The scopes that a token of the provider must have, separated by spaces. */
  @Rule(SCOPES_RULE, isScopeList)
  @Rule(
    'must not be set without AUTH_JWKS_URL',
    (value, { AUTH_JWKS_URL }: Env) => value === '' || AUTH_JWKS_URL !== '',
  )
  readonly AUTH_SCOPE: string = '';

  /** The scopes that a token of the provider must have to read, in place of AUTH_SCOPE. */
  @Rule(SCOPES_RULE, isScopeList)
  @Rule(
    'must not be set without AUTH_JWKS_URL',
    (value, { AUTH_JWKS_URL }: Env) => value === '' || AUTH_JWKS_URL !== '',
  )
  readonly AUTH_READ_SCOPE: string = '';

  /** How many requests of one token, or of one address without a valid token, are answered. */
  @Rule(RATE_RULE, (value) => parseRate(value) !== undefined)
  readonly RATE_LIMIT: string = 'off';

  /**
   * How many requests of one address without a valid token are answered 401 before they get 429.
   */
  @Rule(RATE_RULE, (value) => parseRate(value) !== undefined)
  readonly AUTH_FAILURE_LIMIT: string = '60000/60';

  /** The reverse proxies whose X-Forwarded-For header gives the address of a client. */
  @Rule(PROXIES_RULE, (value) => parseTrustedProxies(value) !== undefined)
  readonly TRUST_PROXY: string = '';

  /** Time limits in milliseconds: for the headers of a request, a whole request, an idle connection. */
  @WholeNumber(100, 3_600_000)
  readonly HEADERS_TIMEOUT_MS: number = 10_000;

  @WholeNumber(100, 3_600_000)
  readonly REQUEST_TIMEOUT_MS: number = 30_000;

  @WholeNumber(100, 3_600_000)
  readonly KEEP_ALIVE_TIMEOUT_MS: number = 65_000;

  /** How long a client may read nothing of its answer, in milliseconds. */
  @WholeNumber(100, 3_600_000)
  readonly SEND_TIMEOUT_MS: number = 30_000;

  /** How long idle connections are kept when the program stops, in milliseconds. */
  @WholeNumber(0, 60_000)
  readonly SHUTDOWN_GRACE_MS: number = 2_000;

  /** How many connections are served at a time. */
  @WholeNumber(1, 1_000_000)
  readonly MAX_CONNECTIONS: number = 10_000;

  /** The origins whose pages may call the service, comma-separated. */
  @Rule('must be a comma-separated list of origins like https://example.com', (value) =>
    splitList(value).every(isOrigin),
  )
  readonly CORS_ORIGINS: string = '';

  /** The least severe log lines to write. */
  @IsIn(LOG_LEVELS, { message: `must be one of ${LOG_LEVELS.join(', ')}` })
  readonly LOG_LEVEL: (typeof LOG_LEVELS)[number] = 'info';
}

registerSettings(Env);

/**
 * Reads the configuration, and also checks the settings of all loaded modules. An empty value
 * counts as unset.
 *
 * @throws EnvError
 */
export function loadEnv(source: NodeJS.ProcessEnv = process.env): Env {
  return loadSettings(Env, source);
}

/** All of them must be set, or none. */
function SetTogether(names: readonly (keyof Env)[]): PropertyDecorator {
  return Rule(
    `must be set too: ${names.join(', ')} belong together`,
    (value, env: Env) => value !== '' || names.every((name) => env[name] === ''),
  );
}

function isOrigin(value: string): boolean {
  return URL.canParse(value) && new URL(value).origin === value;
}

function isHost(value: string): boolean {
  return isIP(value) || isFQDN(value, { require_tld: false });
}
