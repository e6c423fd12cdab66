import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { expectError, TOKEN, until } from 'durable-rest/testing';
import { exchange, openSocket } from '../support/http/connection.js';
import { countHeld, takeHandlerTurns } from '../support/limits.js';
import { TestApp } from '../support/test-app.js';

const app = TestApp.forAll();

async function scrape(): Promise<string> {
  return (await app.get('/metrics')).text;
}

/** Reads the value of a series, or 0. */
function readValue(text: string, series: string): number {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? 0);
}

/** By how much the requests below increase each series. */
const INCREASES = {
  'auth_failures_total{reason="missing"}': 1,
  'store_creates_total{table="plants",outcome="created"}': 1,
  'store_creates_total{table="plants",outcome="identical"}': 1,
  'store_creates_total{table="plants",outcome="different"}': 1,
  'store_commit_rows_sum{table="plants",operation="write"}': 5,
  'store_commit_duration_seconds_count{table="plants",operation="write"}': 5,
  'store_operations_total{table="plants",operation="replace",outcome="done"}': 1,
  'store_operations_total{table="plants",operation="find",outcome="found"}': 1,
  'store_operations_total{table="plants",operation="page",outcome="found"}': 1,
  'store_operations_total{table="plants",operation="remove",outcome="done"}': 1,
  'store_operations_total{table="plants",operation="find",outcome="missing"}': 1,
  'store_read_duration_seconds_count{table="plants",operation="page"}': 1,
};

/** By how much some work increases these series. */
async function measure(
  series: readonly string[],
  work: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const before = await scrape();
  await work();
  const now = await scrape();
  return Object.fromEntries(
    series.map((name) => [name, readValue(now, name) - readValue(before, name)]),
  );
}

/** Sends a part of a body, and leaves. */
async function leave(): Promise<void> {
  const socket = openSocket(app.port);
  socket.write(
    `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
  );
  await until(() => countHeld(app) > 0);
  socket.resetAndDestroy();
  await until(() => countHeld(app) === 0);
}

describe('GET /metrics', () => {
  it('needs a token, and answers in the text format of Prometheus', async () => {
    expectError(await app.request('GET', '/metrics'), 'TOKEN_MISSING');
    const answer = await app.get('/metrics');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  it.each([
    ['POST', '/plants', '200', () => app.create('{"id":1,"name":"n"}')],
    ['POST', '/plants', '409', () => app.create('{"id":1,"name":"n"}')],
    ['POST', '/plants', '401', () => app.request('POST', '/plants?a=b')],
    ['GET', '/health/live', '200', () => app.request('GET', '/health/live')],
    ['GET', 'unmatched', '404', () => app.request('GET', '/nothing/1')],
    ['PUT', '/plants', '405', () => app.request('PUT', '/plants')],
    ['other', 'unmatched', '404', () => app.request('PURGE', '/nothing/2')],
    ['other', 'unmatched', '400', () => exchange(app.port, 'nonsense\r\n\r\n')],
    ['POST', '/plants', 'aborted', leave],
  ])('counts %s of the route %s answered %s', async (method, route, status, request) => {
    const series = `http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`;
    expect(await measure([series], request)).toEqual({ [series]: 1 });
  });

  it('is answered while no other request gets a turn', async () => {
    const giveBack = takeHandlerTurns(app);
    const { status } = await app.get('/metrics');
    giveBack();
    expect(status).toBe(200);
  });

  it('counts the lines of an import, and shows that they share a commit', async () => {
    const increases = {
      'import_lines_total{outcome="created"}': 100,
      'store_creates_total{table="plants",outcome="created"}': 100,
      'store_operations_total{table="plants",operation="create",outcome="created"}': 100,
      'store_commit_duration_seconds_count{table="plants",operation="write"}': 1,
    };
    const rows = Array.from({ length: 100 }, (_, index) => `{"id":${1_000 + index},"name":"n"}\n`);
    const type = { 'Content-Type': 'application/x-ndjson' };
    const work = (): Promise<unknown> => app.post('/plants/import', rows.join(''), type);
    expect(await measure(Object.keys(increases), work)).toEqual(increases);
  });

  it('has the version of the program and of Node', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const labels = `version="${version}",node="${process.version}"`;
    expect(readValue(await scrape(), `plant_store_build_info{${labels}}`)).toBe(1);
  });

  it('counts failed authentications, and rows by operation and outcome', async () => {
    const work = async (): Promise<void> => {
      await app.request('GET', '/plants');
      for (const name of ['n', 'n', 'other']) await app.create(`{"id":2,"name":"${name}"}`);
      await app.put('/plants/2', '{"name":"m"}');
      await app.get('/plants/2');
      await app.get('/plants');
      await app.delete('/plants/2');
      await app.get('/plants/2');
    };
    expect(await measure(Object.keys(INCREASES), work)).toEqual(INCREASES);
    expect(await scrape()).toContain('store_queue_rows{table="plants",operation="write"} 0\n');
  });

  it.each(['deploy/grafana-dashboard.json', 'deploy/prometheus-rules.yaml', 'docs/monitoring.md'])(
    'shows every metric that %s names',
    async (file) => {
      const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
      const named =
        text.match(/\b(?:auth|http|store|plant_store|nodejs|process)_[a-z0-9_]+\b/g) ?? [];
      expect(named.length).toBeGreaterThan(5);
      const shown = await scrape();
      const missing = named.filter((name) => !new RegExp(`^${name}(_bucket)?\\b`, 'm').test(shown));
      expect(missing).toEqual([]);
    },
  );
});
