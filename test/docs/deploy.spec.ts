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

describe.each(['compose.yaml', 'deploy/compose.sqlite.yaml'])('%s', (path) => {
  const text = readText(path);

  it('publishes no port to other machines', () => {
    const ports = [...text.matchAll(/^ +ports:\n((?: +- .*\n)+)/gm)].map(([, list]) => list);
    expect(ports).toHaveLength(1);
    expect(ports[0]).toMatch(/^ +- 127\.0\.0\.1:\$\{PORT:-3000\}:\d+\n$/);
  });

  it('sets variables that the program knows, and passes on the tokens', () => {
    const [, lines = ''] =
      /\n {2}plants:\n.*?\n {4}environment:\n((?: {6}.*\n)+)/s.exec(text) ?? [];
    const names = [...lines.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name);
    const own = ['NODE_ENV', 'HOST', 'PORT', 'DATABASE_URL', 'ACCESS_TOKENS'];
    expect(names).toEqual(expect.arrayContaining(own));
    expect(names.filter((name) => !SETTINGS.includes(name ?? ''))).toEqual([]);
    expect(lines).toContain('ACCESS_TOKENS: ${ACCESS_TOKENS:-}\n');
  });
});

it('compose.yaml has only texts in the commands that check health', () => {
  const { services } = parseYaml(readText('compose.yaml')) as {
    services: Record<string, { healthcheck?: { test: unknown[] } }>;
  };
  const words = Object.values(services).flatMap(({ healthcheck }) => healthcheck?.test ?? []);
  expect(words).toContain('--eval');
  expect(words.filter((word) => typeof word !== 'string')).toEqual([]);
});
