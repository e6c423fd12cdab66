// Makes dist, which has the client for programs of both kinds of modules.
const { execFileSync } = require('node:child_process');
const { copyFileSync, rmSync, writeFileSync } = require('node:fs');
const process = require('node:process');

const KINDS = {
  esm: { type: 'module', options: [] },
  cjs: {
    type: 'commonjs',
    options: [
      '--module',
      'commonjs',
      '--moduleResolution',
      'bundler',
      '--verbatimModuleSyntax',
      'false',
    ],
  },
};

rmSync('dist', { recursive: true, force: true });
const compiler = require.resolve('typescript/bin/tsc');
for (const [kind, { type, options }] of Object.entries(KINDS)) {
  const folder = `dist/${kind}`;
  execFileSync(process.execPath, [compiler, '--project', '.', '--outDir', folder, ...options]);
  copyFileSync('api-types.d.ts', `${folder}/api-types.d.ts`);
  writeFileSync(`${folder}/package.json`, `${JSON.stringify({ type })}\n`);
}
