import { describe, expect, it } from '@jest/globals';
import { parseYaml } from '@redocly/openapi-core';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import '../../src/app.module.js';
import { parseEnvFile } from '../../packages/platform/src/config/env-file.js';
import { describeSettings } from '../../packages/platform/src/config/setting.decorators.js';

const ROOT = new URL('../../', import.meta.url).pathname;

function readText(path: string): string {
  return readFileSync(ROOT + path, 'utf8');
}

describe('npm pack', () => {
  const pack = ['pack', '--dry-run', '--ignore-scripts', '--json'];
  const [packed] = JSON.parse(
    execFileSync('npm', pack, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  ) as { files: { path: string }[] }[];
  const paths = packed?.files.map(({ path }) => path) ?? [];

  it.each([
    ['the service', 'src', 'dist'],
    ['durable-rest', 'packages/platform/src', 'node_modules/durable-rest/dist'],
    ['durable-store', 'packages/store/src', 'node_modules/durable-store/dist'],
  ])('has every source of %s but its tests, and nothing else', (_, folder, target) => {
    const sources = readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.ts') && !/(spec|\.d)\.ts$/.test(path),
    );
    const built = sources.flatMap((path) => {
      const program = `${target}/${path.replace(/\.ts$/, '.js')}`;
      return [program, `${program}.map`];
    });
    expect(paths.filter((path) => path.startsWith(`${target}/`)).sort()).toEqual(built.sort());
  });

  it('has the documents and the scripts of the installation', () => {
    expect(paths.filter((path) => !/^(deploy|dist|docs|node_modules)\//.test(path)).sort()).toEqual(
      [
        '.env.example',
        'LICENSE',
        'README.md',
        'openapi.json',
        'package.json',
        'scripts/check-compiler.mjs',
      ],
    );
    expect(paths).toContain('docs/api.md');
    // What OpenTelemetry's package needs is installed in its folder.
    expect(paths.filter((path) => path.startsWith('deploy/opentelemetry/')).sort()).toEqual([
      'deploy/opentelemetry/package-lock.json',
      'deploy/opentelemetry/package.json',
      'deploy/opentelemetry/register.mjs',
    ]);
  });
});

describe('the packages of a release', () => {
  const paths = [
    ...['package.json', 'client/package.json', 'create/package.json'],
    ...readdirSync(`${ROOT}packages`).map((name) => `packages/${name}/package.json`),
  ];
  const packages = paths.map((path) => ({ path, text: readText(path) }));
  const { version } = JSON.parse(readText('package.json')) as { version: string };

  it('have one version, which their dependencies on each other name', () => {
    const named = packages.flatMap(({ path, text }) =>
      [...text.matchAll(/"(?:version|durable-[a-z]+)": "(.*)"/g)].map(([, value]) => [path, value]),
    );
    expect(new Set(named.map(([path]) => path))).toEqual(new Set(paths));
    expect(named.filter(([, value]) => value !== version)).toEqual([]);
  });

  it.each([
    'create/README.md',
    'docs/install.md',
    'docs/upgrade.md',
    'packages/platform/README.md',
    'packages/store/README.md',
  ])('have names with this version in %s', (path) => {
    const named = [...readText(path).matchAll(/-(\d+\.\d+\.\d+)\.tgz/g)].map(([, value]) => value);
    expect(new Set(named)).toEqual(new Set([version]));
  });
});

it.each([
  'Dockerfile',
  '.devcontainer/Dockerfile',
  '.github/workflows/ci.yml',
  '.github/workflows/nightly.yml',
  '.github/workflows/processor-time.yml',
  '.github/workflows/release.yml',
  'create/template/.github/workflows/ci.yml',
])('%s names every image and every action by its digest', (path) => {
  const named = readText(path)
    .split('\n')
    .filter((line) => /^ARG NODE_IMAGE=|^FROM (?!\$\{NODE_IMAGE\})|^ *image:|\buses:/.test(line));
  expect(named).not.toEqual([]);
  expect(named.filter((line) => !/@(sha256:[0-9a-f]{64}|[0-9a-f]{40})\b/.test(line))).toEqual([]);
});

it('the development container has every package that .ci/run would install', () => {
  const run = readText('.ci/steps.sh');
  const needed = [...run.matchAll(/^need \S+ (\S+)$|packages\+=\(([a-z-]+)\)$/gm)];
  const packages = needed.map(([, ofCommand, other]) => ofCommand ?? other);
  expect(packages).toContain('chromium');
  const container = readText('.devcontainer/Dockerfile').split(/\s+/);
  expect(container).toEqual(expect.arrayContaining(packages));
});

const DEFAULTS = parseEnvFile(Buffer.from(describeSettings()), '--help');
const SETTINGS = [...DEFAULTS.keys()];

it('.env.example has every setting with its default, as node dist/main.js --help prints it', () => {
  expect(parseEnvFile(Buffer.from(readText('.env.example')), '.env.example')).toEqual(DEFAULTS);
});

it('deploy/plant-store.service runs the program with settings that it knows', () => {
  const unit = readText('deploy/plant-store.service');
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
