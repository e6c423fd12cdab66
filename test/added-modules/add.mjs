import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

// Adds the modules of this folder to the service, as a team does, and those that are generated. No test
// may fail then. It changes sources, so .ci/run starts it in a copy of the repository.

const FOLDER = 'test/added-modules';
const LISTS = { 'entity.ts': 'entities', 'module.ts': 'imports' };

const modules = readdirSync(FOLDER, { withFileTypes: true }).filter((one) => one.isDirectory());
for (const { name } of modules) {
  const target = `src/modules/${name}`;
  cpSync(`${FOLDER}/${name}`, target, { recursive: true });
  for (const file of readdirSync(target, { recursive: true }).sort()) {
    const [, kind] = /\.(entity\.ts|module\.ts)$/.exec(file) ?? [];
    const list = file.startsWith('migrations/') ? 'migrations' : LISTS[kind];
    if (list !== undefined) register(list, `${target}/${file}`);
  }
}

/** Adds the class of a file at the end of a list of the service, and its import. */
function register(list, path) {
  const [, name] = /^export class (\w+)/m.exec(readFileSync(path, 'utf8')) ?? [];
  const file = list === 'imports' ? 'src/app.module.ts' : 'src/schema.ts';
  const text = readFileSync(file, 'utf8').replace(
    new RegExp(`(\\b${list}: \\[[^\\]]*?),?(\\s*\\])`),
    `$1, ${name}$2`,
  );
  const from = path.replace('src/', './').replace(/ts$/, 'js');
  writeFileSync(file, `import { ${name} } from '${from}';\n${text}`);
}

// docs/recipes.md says so.
appendFileSync(
  '.env.example',
  '\n# How many minutes one watering may take.\nWATERINGS_MAX_MINUTES=60\n\n# Whether waterings are announced: on or off.\nWATERINGS_ANNOUNCED=off\n\n# The day without waterings, from 1 (Monday) to 7.\nWATERINGS_FREE_DAY=\n',
);

// Labels keep plants from being removed, and CONTRIBUTING.md says so.
const CONTRACT = 'test/upgrades/breaking-changes.spec.ts';
const accepted = `ACCEPTED: readonly string[] = ['operations delete /plants/{id} statuses']`;
writeFileSync(
  CONTRACT,
  readFileSync(CONTRACT, 'utf8').replace('ACCEPTED: readonly string[] = []', accepted),
);

for (const options of [['gardens'], ['herbs', '--type=least'], ['species', 'specimen']]) {
  generate('resource', ...options);
}

// What Nest's own generators write passes all checks as it is, with its tests. A gateway needs further
// packages.
const KINDS = [
  ...['class', 'controller', 'decorator', 'filter', 'guard', 'interceptor', 'interface'],
  ...['middleware', 'module', 'pipe', 'provider', 'service'],
];
for (const kind of KINDS) generate(kind, `own-${kind}`, '--spec');

function generate(...options) {
  execFileSync('npx', ['nest', 'g', ...options], { stdio: 'inherit' });
}
