import { expect, it } from '@jest/globals';
import { loadEnv } from 'durable-rest/program';
import { readFileSync } from 'node:fs';
import { DEFAULT_ATTEMPTS, DEFAULT_TIMEOUT_MS } from '../../client/plant-store-client.js';
import { MIN_TOKEN_LENGTH } from '../../packages/platform/src/auth/access-tokens.js';
import {
  CLOCK_TOLERANCE_SECONDS,
  MAX_JWT_LENGTH,
  VERIFIED_TTL_MS,
} from '../../packages/platform/src/auth/jwt-tokens.js';
import {
  FETCH_SPACING_MS,
  KEYS_TIMEOUT_MS,
  MAX_KEY_AGE_MS,
  MIN_RSA_BITS,
} from '../../packages/platform/src/auth/provider-keys.js';
import {
  ACCEPT_MS,
  getLastAnswerMs,
  getMaxStopMs,
  MAX_WAIT_TIMEOUT_MS,
  WAIT_TIMEOUT_MS,
} from '../../packages/platform/src/config/time-limits.js';
import { CLIENT_MEMORY } from '../../packages/platform/src/limits/request-limits.js';
import { REQUEST_BYTES } from '../../packages/platform/src/limits/request-turns.js';
import { PIPE_MS } from '../../packages/platform/src/observability/progress.js';
import { BODY_LIMIT } from '../../packages/platform/src/requests/body-reader.js';
import { MAX_BODY_LIMIT } from '../../packages/platform/src/rest/api.decorators.js';
import { ETAG_LENGTH } from '../../packages/platform/src/rest/etag.js';
import { MAX_FAILURES } from '../../packages/platform/src/rest/import.js';
import { REFUSAL_HEADROOM } from '../../packages/platform/src/server/connections.js';
import { DISCARD_LIMIT, DISCARD_MS } from '../../packages/platform/src/server/early-answer.js';
import {
  FREE_SMALL_CHUNKS,
  SMALL_CHUNK,
} from '../../packages/platform/src/server/request-class.js';
import { MAX_REQUEST_ID_LENGTH } from '../../packages/platform/src/server/request.middleware.js';
import { MAX_VALUES } from '../../packages/platform/src/validation/max-values.js';
import {
  MAX_CHANGES_OF_ROW,
  MAX_REFUSAL_MS,
} from '../../packages/store/src/batching/batch-queue.js';
import { PAGE_BYTES } from '../../packages/store/src/batching/read-rows.js';
import { INDEXED_LENGTH } from '../../packages/store/src/engine/engine.js';
import { SUPPRESS_MS } from '../../packages/store/src/engine/store-failures.js';
import { TimeLimits } from '../../packages/store/src/engine/time-limits.js';
import { ROW_READERS } from '../../packages/store/src/postgres/postgres-data-source.js';
import { MAX_WRITTEN } from '../../packages/store/src/repositories/row-portions.js';
import { MAX_LOG_BYTES } from '../../packages/store/src/sqlite/sqlite-connections.js';

// Each figure in the prose of a document is listed here, in its order, and made of the constant that
// decides it. So a changed constant fails here, and so does a new figure, until its source is named.

const ROOT = new URL('../../', import.meta.url).pathname;
const readText = (path: string): string => readFileSync(ROOT + path, 'utf8');

const env = loadEnv({});

interface Parameter {
  readonly name: string;
  readonly schema: {
    readonly default?: number;
    readonly minimum?: number;
    readonly maximum?: number;
  };
}
const { paths } = JSON.parse(readText('openapi.json')) as {
  paths: Record<string, { get: { parameters: Parameter[] } }>;
};
/** The least, the default and the most of a parameter, as the interface has them. */
function getParameter(path: string, name: string): Parameter['schema'] {
  return paths[path]?.get.parameters.find((one) => one.name === name)?.schema ?? {};
}
const plants = getParameter('/plants', 'limit');
const changes = getParameter('/changes', 'limit');
const wait = getParameter('/changes', 'wait');

const write = (count = NaN, unit: string): string => `${count.toLocaleString('en')} ${unit}`;
const seconds = (ms: number): string => write(ms / 1_000, ms === 1_000 ? 'second' : 'seconds');
const minutes = (ms: number): string => write(ms / 60_000, 'minutes');
const kib = (bytes: number): string => write(bytes / 1024, 'KiB');
const mib = (bytes: number): string => write(bytes / 1024 / 1024, 'MiB');

/** The longest time that a process manager of the repository waits for a stop. */
const [, STOP_TIMEOUT = ''] =
  /TimeoutStopSec=(\d+)/.exec(readText('deploy/plant-store.service')) ?? [];
const [, NGINX_REQUESTS = ''] =
  /limit_conn addresses (\d+)/.exec(readText('deploy/nginx.conf')) ?? [];
const [, NGINX_TIMEOUT = ''] =
  /proxy_read_timeout (\d+)s/.exec(readText('deploy/nginx.conf')) ?? [];
const [, PRE_STOP = ''] =
  /command: \[sleep, '(\d+)'\]/.exec(readText('deploy/kubernetes.yaml')) ?? [];
const FAILURE_LIMIT = env.AUTH_FAILURE_LIMIT === 'off' ? 0 : env.AUTH_FAILURE_LIMIT.limit;
/** How much longer than SHUTDOWN_GRACE_MS a stop may take, in whole seconds. */
const MAX_STOP_MS = Math.ceil(getMaxStopMs(WAIT_TIMEOUT_MS) / 1_000) * 1_000;
const LONGEST_STOP_MS = Math.ceil(getMaxStopMs(MAX_WAIT_TIMEOUT_MS) / 1_000) * 1_000;
const DAY_MS = 24 * 60 * 60 * 1_000;

const FIGURES: Readonly<Record<string, readonly string[]>> = {
  'client/README.md': [write(DEFAULT_ATTEMPTS, 'attempts'), seconds(DEFAULT_TIMEOUT_MS)],
  'docs/api.md': [
    mib(PAGE_BYTES),
    write(plants.default, 'by default'),
    write(plants.maximum, 'at most'),
    write(INDEXED_LENGTH, 'characters'),
    write(INDEXED_LENGTH, 'characters'),
    write(MAX_FAILURES, 'failures'),
    seconds(env.REQUEST_TIMEOUT_MS),
    write(ETAG_LENGTH, 'characters'),
    // How long a client pauses.
    '1 second',
    mib(DISCARD_LIMIT),
    seconds(DISCARD_MS),
    write(MAX_REQUEST_ID_LENGTH, 'characters'),
  ],
  'docs/changes.md': [
    write(wait.maximum, 'seconds'),
    write(changes.default, 'by default'),
    write(changes.maximum, 'at most'),
    write(wait.minimum, 'by default'),
    write(wait.maximum, 'at most'),
    '64 bits',
  ],
  'docs/decisions.md': [
    write(MAX_WRITTEN, 'changes'),
    write(MAX_CHANGES_OF_ROW, 'changes'),
    seconds(MAX_REFUSAL_MS),
  ],
  'docs/durability.md': [
    seconds(new TimeLimits().fileLockMs),
    seconds(new TimeLimits().fileLockMs),
    mib(MAX_LOG_BYTES),
    seconds(MAX_REFUSAL_MS),
  ],
  'docs/feed.md': [write(env.CHANGE_RETENTION / DAY_MS, 'days')],
  'docs/install.md': [
    // The times of pm2.
    '1.6 seconds',
    '3 seconds',
  ],
  'docs/kubernetes.md': [`${PRE_STOP} seconds`],
  'docs/limits.md': [
    write(REFUSAL_HEADROOM, 'connections'),
    mib(DISCARD_LIMIT),
    seconds(DISCARD_MS),
    mib(CLIENT_MEMORY),
    write(SMALL_CHUNK, 'bytes'),
    write(FREE_SMALL_CHUNKS, 'small chunks'),
    // The comment of MAX_VALUES has the time.
    '25 ms',
    kib(REQUEST_BYTES),
    seconds(MAX_WAIT_TIMEOUT_MS),
    `${NGINX_TIMEOUT} seconds`,
    seconds(new TimeLimits().maxExpectedMs),
  ],
  'docs/dtos.md': ['64 bits', kib(BODY_LIMIT), mib(MAX_BODY_LIMIT), write(MAX_VALUES, 'values')],
  'docs/errors.md': [`${NGINX_REQUESTS} requests`],
  'docs/modules.md': [write(INDEXED_LENGTH, 'characters')],
  'docs/operations.md': [
    seconds(PIPE_MS),
    write(MIN_TOKEN_LENGTH, 'characters'),
    seconds(ACCEPT_MS),
    seconds(env.SHUTDOWN_GRACE_MS),
    seconds(getLastAnswerMs(WAIT_TIMEOUT_MS)),
    seconds(MAX_STOP_MS),
    seconds(LONGEST_STOP_MS),
    `${STOP_TIMEOUT} seconds`,
    seconds(SUPPRESS_MS),
  ],
  'docs/postgresql.md': [
    write(ROW_READERS, 'connections'),
    write(3 * env.DATABASE_POOL_SIZE + ROW_READERS, 'by default'),
    // What PostgreSQL allows and reserves.
    '100 connections',
    '3 connections',
  ],
  'docs/proxies.md': [
    `${NGINX_REQUESTS} requests`,
    seconds(env.KEEP_ALIVE_TIMEOUT_MS),
    write(wait.maximum, 'seconds'),
    seconds(env.SHUTDOWN_GRACE_MS),
  ],
  'docs/recipes.md': ['64 bits', '64 bits'],
  'docs/scale.md': [
    // The load of the example.
    '2,000 pages',
    write(ROW_READERS, 'connections'),
    write(env.DATABASE_POOL_SIZE, 'by default'),
    write(3 * env.DATABASE_POOL_SIZE + ROW_READERS, 'connections'),
  ],
  'docs/security.md': [
    kib(MAX_JWT_LENGTH),
    write(CLOCK_TOLERANCE_SECONDS, 'seconds'),
    minutes(MAX_KEY_AGE_MS + VERIFIED_TTL_MS),
    minutes(MAX_KEY_AGE_MS),
    minutes(VERIFIED_TTL_MS),
    minutes(MAX_KEY_AGE_MS),
    write(MIN_RSA_BITS, 'bits'),
    seconds(FETCH_SPACING_MS),
    minutes(VERIFIED_TTL_MS),
    // The setting of the example.
    '600 requests',
    '60 seconds',
    write(FAILURE_LIMIT, 'requests'),
    minutes(VERIFIED_TTL_MS),
    write(env.MAX_CONNECTIONS, 'connections'),
    seconds(KEYS_TIMEOUT_MS),
  ],
  'docs/transactions.md': [seconds(env.TRANSACTION_TIMEOUT_MS)],
};

const UNITS = [
  'ms|milliseconds|seconds?|minutes|hours|days',
  'bits|bytes|KiB|MiB|GB|characters',
  'by default|at most|attempts|changes|(?:small )?chunks|connections|failures|pages|requests|values',
].join('|');
const FIGURE = new RegExp(String.raw`(?<![\w.,])\d[\d,.]* (?:${UNITS})\b`, 'g');
/** Blocks, code, and the tables that `npm run openapi` writes, or for which a proof measures. */
const NO_PROSE =
  /^ *```[^]*?^ *```$|`[^`]*`|^\| (?:bound|case|error|metric|proxy|time) +\|.*\n(?:\|.*\n)+/gm;

it.each(Object.keys(FIGURES))('%s has the figures of the program', (document) => {
  const prose = readText(document).replaceAll(NO_PROSE, '').replaceAll(/\s+/g, ' ');
  expect(prose.match(FIGURE) ?? []).toEqual(FIGURES[document]);
});
