import { type DynamicModule, Module } from '@nestjs/common';
import { DATABASE_URL, DEFAULT_DATABASE_URL } from './database-url.js';
import { Service } from './service.js';
import { EnvError, loadSettings, Setting } from './setting.decorators.js';
import {
  ANY_TEXT,
  type ConfiguredToken,
  DURATION,
  HOST,
  JWKS_URL,
  oneOfWords,
  ORIGINS,
  PATH_SEGMENTS,
  PROXIES,
  type Rate,
  RATE,
  SCOPES,
  TOKENS,
  VISIBLE_ASCII,
  wholeNumber,
} from './setting-formats.js';
import { MAX_WAIT_TIMEOUT_MS, MIN_WAIT_TIMEOUT_MS, WAIT_TIMEOUT_MS } from './time-limits.js';

export { EnvError };

const NODE_ENVS = ['development', 'test', 'production'] as const;
const SWITCH = ['on', 'off'] as const;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const PROVIDER = ['AUTH_JWKS_URL', 'AUTH_ISSUER', 'AUTH_AUDIENCE'] as const;

/**
 * The configuration: one property for each environment variable, read and checked once at start.
 * Injectable.
 *
 * @example
 * ```ts
 * @Injectable()
 * class Clock {
 *   constructor(private readonly env: Env) {}
 *
 *   get isOfProduction(): boolean {
 *     return this.env.NODE_ENV === 'production';
 *   }
 * }
 * ```
 */
export class Env {
  /** `production` requires configured tokens. */
  @Setting(oneOfWords(NODE_ENVS), 'development')
  readonly NODE_ENV!: (typeof NODE_ENVS)[number];

  /** The address to listen on. */
  @Setting(HOST, '127.0.0.1')
  readonly HOST!: string;

  /** The port to listen on; 0 takes a free one. */
  @Setting(wholeNumber(0, 65_535), '3000')
  readonly PORT!: number;

  /** The database that stores the rows. */
  @Setting(DATABASE_URL, DEFAULT_DATABASE_URL)
  readonly DATABASE_URL!: string;

  /** How many connections commit batches. As many others read pages, and as many serve TypeORM. */
  @Setting(wholeNumber(1, 100), '4')
  readonly DATABASE_POOL_SIZE!: number;

  /** How many pages of a store in a file are read at a time. */
  @Setting(wholeNumber(1, 32), '1')
  readonly FILE_PAGE_READERS!: number;

  /** How long a request waits for its turn or for the store before it gets 503, in milliseconds. */
  @Setting(wholeNumber(MIN_WAIT_TIMEOUT_MS, MAX_WAIT_TIMEOUT_MS), String(WAIT_TIMEOUT_MS))
  readonly STORE_TIMEOUT_MS!: number;

  /** How long a transaction of a module may last before it is rolled back, in milliseconds. */
  @Setting(wholeNumber(100, 3_600_000), '10000')
  readonly TRANSACTION_TIMEOUT_MS!: number;

  /** Whether the feed of changes is recorded and served. */
  @Setting(oneOfWords(SWITCH), 'off')
  readonly CHANGE_FEED!: (typeof SWITCH)[number];

  /** How long changes are kept, in milliseconds. */
  @Setting(DURATION, '7d')
  readonly CHANGE_RETENTION!: number;

  /** The tokens that clients may use, or their digests. */
  @Setting(TOKENS, '')
  readonly ACCESS_TOKENS!: readonly ConfiguredToken[];

  /** The tokens that clients may use to read only, or their digests. */
  @Setting(TOKENS, '')
  readonly READ_ACCESS_TOKENS!: readonly ConfiguredToken[];

  /** The token of a start without other tokens, outside of production; by default a random one. */
  @Setting(VISIBLE_ASCII)
  readonly DEVELOPMENT_TOKEN: string | undefined;

  /** The identity provider whose access tokens clients may use: JWKS URL, issuer, audience. */
  @Setting(JWKS_URL)
  readonly AUTH_JWKS_URL: URL | undefined;

  @Setting(ANY_TEXT)
  readonly AUTH_ISSUER: string | undefined;

  @Setting(ANY_TEXT)
  readonly AUTH_AUDIENCE: string | undefined;

  /** The scopes that a token of the provider must have. */
  @Setting(SCOPES)
  readonly AUTH_SCOPE: readonly string[] | undefined;

  /** The scopes that a token of the provider must have to read, instead of AUTH_SCOPE. */
  @Setting(SCOPES)
  readonly AUTH_READ_SCOPE: readonly string[] | undefined;

  /** How many requests of one token, or of one address without a valid token, are answered. */
  @Setting(RATE, 'off')
  readonly RATE_LIMIT!: Rate | 'off';

  /**
   * How many requests of one address without a valid token are answered 401 before they get 429.
   */
  @Setting(RATE, '60000/60')
  readonly AUTH_FAILURE_LIMIT!: Rate | 'off';

  /** The reverse proxies whose X-Forwarded-For header gives the address of a client. */
  @Setting(PROXIES)
  readonly TRUST_PROXY: number | string[] | undefined;

  /** The start of each path that a reverse proxy removes; references in answers begin with it. */
  @Setting(PATH_SEGMENTS, '')
  readonly PATH_PREFIX!: string;

  /** Time limits in milliseconds: for the headers of a request, a whole request, an idle connection. */
  @Setting(wholeNumber(100, 3_600_000), '10000')
  readonly HEADERS_TIMEOUT_MS!: number;

  @Setting(wholeNumber(100, 3_600_000), '30000')
  readonly REQUEST_TIMEOUT_MS!: number;

  @Setting(wholeNumber(100, 3_600_000), '65000')
  readonly KEEP_ALIVE_TIMEOUT_MS!: number;

  /**
   * How long a client may read nothing of its answer, or send nothing of a body that a module reads
   * itself, in milliseconds.
   */
  @Setting(wholeNumber(100, 3_600_000), '30000')
  readonly SEND_TIMEOUT_MS!: number;

  /** How long idle connections are kept when the program stops, in milliseconds. */
  @Setting(wholeNumber(0, 60_000), '2000')
  readonly SHUTDOWN_GRACE_MS!: number;

  /** How many connections are served at a time. */
  @Setting(wholeNumber(1, 1_000_000), '10000')
  readonly MAX_CONNECTIONS!: number;

  /** Whether Swagger UI is served at /docs, and its files are kept in memory. */
  @Setting(oneOfWords(SWITCH), 'on')
  readonly SWAGGER_UI!: (typeof SWITCH)[number];

  /** The origins whose pages may call the service. */
  @Setting(ORIGINS, '')
  readonly CORS_ORIGINS!: string[];

  /** The least severe log lines to write. */
  @Setting(oneOfWords(LOG_LEVELS), 'info')
  readonly LOG_LEVEL!: (typeof LOG_LEVELS)[number];
}

/**
 * Reads the configuration, and also checks the settings of all loaded modules. An empty value
 * counts as unset.
 *
 * @param source the environment of the process by default
 * @throws EnvError when a setting is wrong, with a line for each
 * @example
 * ```ts
 * const { DATABASE_URL, PORT } = loadEnv();
 * ```
 */
export function loadEnv(source: NodeJS.ProcessEnv = process.env): Env {
  return loadSettings(Env, source, checkTogether);
}

/** Checks the rules that concern several variables. A variable has the fault of its own, if any. */
function checkTogether(env: Env, faults: Map<string, string>): void {
  const add = (name: string, must: string): void => {
    if (!faults.has(name)) faults.set(name, must);
  };
  const hasTokens = env.ACCESS_TOKENS.length + env.READ_ACCESS_TOKENS.length > 0;
  const missing = PROVIDER.filter((name) => env[name] === undefined && !faults.has(name));
  const hasProvider = missing.length < PROVIDER.length;
  if (env.NODE_ENV === 'production' && !hasTokens && !hasProvider) {
    add(
      'ACCESS_TOKENS',
      'must hold a token when NODE_ENV is production and neither READ_ACCESS_TOKENS nor AUTH_JWKS_URL is set',
    );
  }
  if (hasProvider) {
    for (const name of missing) {
      add(name, `must be set too: ${PROVIDER.join(', ')} belong together`);
    }
  } else {
    for (const name of ['AUTH_SCOPE', 'AUTH_READ_SCOPE'] as const) {
      if (env[name] !== undefined) add(name, 'must not be set without AUTH_JWKS_URL');
    }
  }
}

@Module({})
export class ConfigModule {
  static forRoot(service: Service): DynamicModule {
    return {
      module: ConfigModule,
      global: true,
      providers: [
        { provide: Env, useFactory: () => loadEnv() },
        { provide: Service, useValue: service },
      ],
      exports: [Env, Service],
    };
  }
}
