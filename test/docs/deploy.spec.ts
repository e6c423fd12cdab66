import { describe, expect, it } from '@jest/globals';
import { parseYaml } from '@redocly/openapi-core';
import { readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url).pathname;
const UNIT = 'deploy/plant-store.service';

function readText(path: string): string {
  return readFileSync(ROOT + path, 'utf8');
}

const SETTINGS = [...readText('.env.example').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);

it(`${UNIT} runs the program with settings that it knows`, () => {
  const unit = readText(UNIT);
  expect(unit).toMatch(/^ExecStart=\/usr\/bin\/node dist\/main\.js$/m);
  const [, variables = ''] = /^Environment=(.*)$/m.exec(unit) ?? [];
  const names = variables.split(' ').map((variable) => variable.split('=')[0]);
  expect(names.filter((name) => !SETTINGS.includes(name ?? ''))).toEqual([]);
});

interface Service {
  readonly ports?: string[];
  readonly environment?: Record<string, unknown>;
  readonly healthcheck?: { readonly test: unknown[] };
}

describe.each(['compose.yaml', 'deploy/compose.sqlite.yaml'])('%s', (path) => {
  const { services } = parseYaml(readText(path)) as { services: Record<string, Service> };

  it('publishes no port to other machines', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:\$\{PORT:-3000\}:\d+$/)]);
  });

  it('sets variables that the program knows, and passes on the tokens', () => {
    const { environment = {} } = services.plants ?? {};
    const names = Object.keys(environment);
    expect(SETTINGS).toEqual(expect.arrayContaining(names));
    expect(names).toEqual(expect.arrayContaining(['NODE_ENV', 'HOST', 'PORT', 'DATABASE_URL']));
    expect(environment.ACCESS_TOKENS).toBe('${ACCESS_TOKENS:-}');
  });

  it('has only texts in the commands that check health', () => {
    const checks = Object.values(services).flatMap(({ healthcheck }) => healthcheck?.test ?? []);
    expect(checks.filter((word) => typeof word !== 'string')).toEqual([]);
  });
});
