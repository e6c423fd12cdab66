import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url).pathname;

function lines(path: string): string[] {
  return readFileSync(ROOT + path, 'utf8').split('\n');
}

describe('npm pack', () => {
  const pack = ['pack', '--dry-run', '--ignore-scripts', '--json'];
  const [packed] = JSON.parse(
    execFileSync('npm', pack, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  ) as { files: { path: string }[] }[];
  const paths = packed?.files.map(({ path }) => path) ?? [];

  it('has the built program: every source but its tests, and nothing else', () => {
    const sources = readdirSync(`${ROOT}src`, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.ts') && !path.endsWith('spec.ts'),
    );
    const built = sources.flatMap((path) => {
      const program = `dist/${path.replace(/\.ts$/, '.js')}`;
      return [program, `${program}.map`];
    });
    expect(paths.filter((path) => path.startsWith('dist/')).sort()).toEqual(built.sort());
  });

  it('has the documents and the scripts of the installation', () => {
    expect(paths.filter((path) => !/^(deploy|dist|docs)\//.test(path)).sort()).toEqual([
      '.env.example',
      'LICENSE',
      'README.md',
      'openapi.json',
      'package.json',
      'scripts/check-sqlite3.mjs',
    ]);
    expect(paths).toContain('docs/api.md');
  });
});

it.each(['Dockerfile', '.github/workflows/ci.yml'])(
  '%s names every image and every action by its digest',
  (path) => {
    const named = lines(path).filter((line) =>
      /^ARG NODE_IMAGE=|^FROM (?!\$\{NODE_IMAGE\})|^ *image:|\buses:/.test(line),
    );
    expect(named).not.toEqual([]);
    expect(named.filter((line) => !/@(sha256:[0-9a-f]{64}|[0-9a-f]{40})\b/.test(line))).toEqual([]);
  },
);
