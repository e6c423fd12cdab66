import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { maxHeaderSize } from 'node:http';
import { join } from 'node:path';
import { MAX_CACHED } from '../../src/platform/auth/jwt-tokens.js';
import { MAX_WAITING_TOKENS } from '../../src/platform/auth/provider-keys.js';
import { Env, WAIT_TIMEOUT_MS } from '../../src/platform/config/env.js';
import { MAX_WAITING } from '../../src/platform/database/batching/batch-queue.js';
import { BODY_LIMIT, WAITING_BODIES_LIMIT } from '../../src/platform/requests/body-reader.js';
import {
  HANDLED_BODIES_LIMIT,
  MAX_HANDLED,
  MAX_PAGES,
} from '../../src/platform/requests/concurrent-requests.js';
import { MAX_STREAMS } from '../../src/platform/rest/event-stream.js';
import { CHUNKS_PER_SECOND } from '../../src/platform/server/chunk-rate.js';
import { MAX_HEADERS } from '../../src/platform/server/http-rules.js';
import { MAX_BATCHES } from '../../src/platform/rest/import.js';
import { WAITING_LIMIT } from '../../src/platform/server/pipelined-requests.js';
import { DISCARD_LIMIT, DISCARD_MS } from '../../src/platform/requests/discard-body.js';
import { UNSENT_LIMIT } from '../../src/platform/server/unsent-bytes-limit.js';
import { ROOT } from '../support/documents.js';

const MIB = 1024 * 1024;
const count = (value: number): string => value.toLocaleString('en-US');

/** The bounds in docs/bounds.md, from the code that enforces them. */
const BOUNDS: Readonly<Record<string, string>> = {
  'one body': `${count(BODY_LIMIT)} B`,
  headers: `${maxHeaderSize / 1024} KiB`,
  'the number of headers, and that of trailers': count(MAX_HEADERS),
  'a parameter of a query, in URL encoding': '4,096 B',
  'incomplete bodies, and bodies that wait for a turn': `${WAITING_BODIES_LIMIT / MIB} MiB`,
  'chunks of a body beyond its first 256': `${count(CHUNKS_PER_SECOND)} per second`,
  'bodies of requests handled at a time': `${HANDLED_BODIES_LIMIT / MIB} MiB`,
  'requests handled at the same time': count(MAX_HANDLED),
  'concurrent reads of pages and pieces': count(MAX_PAGES),
  'batches of imports that are stored at a time': count(MAX_BATCHES),
  'a wait for a turn': `${WAIT_TIMEOUT_MS / 1_000} s`,
  'a wait for the store': `${WAIT_TIMEOUT_MS / 1_000} s`,
  'rows that wait for a commit or to be read': count(MAX_WAITING.items),
  'characters of rows that wait': `${MAX_WAITING.characters / MIB} Mi`,
  'answers that clients have not yet read': `${UNSENT_LIMIT / MIB} MiB`,
  'time in which a client reads nothing': `${new Env().SEND_TIMEOUT_MS / 1_000} s`,
  'JWTs that are known to be valid': count(MAX_CACHED),
  "tokens that wait for the provider's keys": count(MAX_WAITING_TOKENS),
  'pipelined requests that wait': count(WAITING_LIMIT),
  'event streams': count(MAX_STREAMS),
  connections: count(new Env().MAX_CONNECTIONS),
  'an unread body after an early answer': `${DISCARD_LIMIT / MIB} MiB, ${DISCARD_MS / 1_000} s`,
};

it('the table in docs/bounds.md has every bound, and each as the code keeps it', () => {
  const text = readFileSync(join(ROOT, 'docs/bounds.md'), 'utf8');
  const rows = [...text.matchAll(/^\| (.*?) +\| (.*?) +\| .*$/gm)].slice(2);
  expect(Object.fromEntries(rows.map(([, what = '', much = '']) => [what, much]))).toEqual(BOUNDS);
});
