import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { DataSource } from 'typeorm';
import { BatchedRepository } from '../../src/platform/database/batched-repository.js';
import { Plant } from '../../src/modules/plants/plant.entity.js';
import { expectError } from '../support/expect-error.js';
import { exchange } from '../support/http/connection.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

let app: TestApp;
let plants: BatchedRepository<Plant>;

beforeAll(async () => {
  app = await TestApp.start();
  plants = new BatchedRepository(app.nest.get(DataSource).getRepository(Plant));
});

afterAll(async () => {
  await app.close();
});

async function scrape(): Promise<string> {
  const headers = { Authorization: `Bearer ${TOKEN}` };
  return String((await app.request('GET', '/metrics', { headers })).body);
}

/** Reads the value of a series, or 0. */
function readValue(text: string, series: string): number {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? 0);
}

describe('GET /metrics', () => {
  it('needs a token, and answers in the text format of Prometheus', async () => {
    expectError(await app.request('GET', '/metrics'), 'TOKEN_MISSING');
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const answer = await app.request('GET', '/metrics', { headers });
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
  ])('counts %s of the route %s answered %s', async (method, route, status, request) => {
    const series = `http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`;
    const before = readValue(await scrape(), series);
    await request();
    expect(readValue(await scrape(), series)).toBe(before + 1);
  });

  it('has the version of the program and of Node', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const labels = `version="${version}",node="${process.version}"`;
    expect(readValue(await scrape(), `plant_store_build_info{${labels}}`)).toBe(1);
  });

  it.each([
    ['missing', {}],
    ['unknown', { Authorization: 'Bearer unknown' }],
  ])('counts requests that are answered 401 because their token is %s', async (reason, headers) => {
    const series = `auth_failures_total{reason="${reason}"}`;
    const before = readValue(await scrape(), series);
    await app.request('GET', '/plants', { headers });
    expect(readValue(await scrape(), series)).toBe(before + 1);
  });

  it('counts creates by outcome', async () => {
    const before = await scrape();
    await app.create('{"id":2,"name":"n"}');
    await app.create('{"id":2,"name":"n"}');
    await app.create('{"id":2,"name":"other"}');
    const now = await scrape();
    for (const outcome of ['created', 'identical', 'different']) {
      const series = `store_creates_total{table="plants",outcome="${outcome}"}`;
      expect(readValue(now, series)).toBe(readValue(before, series) + 1);
    }
    for (const series of ['store_commit_rows_sum', 'store_commit_duration_seconds_count']) {
      const labelled = `${series}{table="plants",operation="write"}`;
      expect(readValue(now, labelled)).toBe(readValue(before, labelled) + 3);
    }
    expect(now).toContain('store_queue_rows{table="plants",operation="write"} 0\n');
  });

  it('counts rows by operation and outcome, and measures how long reading takes', async () => {
    const plant = { id: '3', name: 'n', tag: null };
    const before = await scrape();
    await plants.create(plant);
    await plants.replace(plant);
    await plants.find('3');
    await plants.page({ limit: 1 });
    await plants.remove('3');
    await plants.find('3');
    const now = await scrape();
    for (const series of [
      'store_operations_total{table="plants",operation="create",outcome="created"}',
      'store_operations_total{table="plants",operation="replace",outcome="done"}',
      'store_operations_total{table="plants",operation="find",outcome="found"}',
      'store_operations_total{table="plants",operation="page",outcome="found"}',
      'store_operations_total{table="plants",operation="remove",outcome="done"}',
      'store_operations_total{table="plants",operation="find",outcome="missing"}',
      'store_read_duration_seconds_count{table="plants",operation="page"}',
    ]) {
      expect([series, readValue(now, series)]).toEqual([series, readValue(before, series) + 1]);
    }
  });

  it.each(['deploy/grafana-dashboard.json', 'docs/operations.md'])(
    'shows every metric that %s names',
    async (file) => {
      // No route reads rows yet.
      await plants.find('1');
      const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
      const named =
        text.match(/\b(?:auth|http|store|plant_store|nodejs|process)_[a-z0-9_]+\b/g) ?? [];
      expect(named.length).toBeGreaterThan(5);
      const shown = await scrape();
      for (const name of new Set(named))
        expect(shown).toMatch(new RegExp(`^${name}(_bucket)?\\b`, 'm'));
    },
  );
});
