import { readFileSync } from 'node:fs';

// Prints every package of the program whose licence requires more than attribution.
const PERMISSIVE = [
  ...['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'],
  'Python-2.0',
];

const { packages } = readJson('package-lock.json');
const strangers = Object.keys(packages)
  // A link leads to a package of this project, which has an entry of its own.
  .filter((path) => path !== '' && packages[path].dev !== true && packages[path].link !== true)
  .map((path) => ({ path, licence: packages[path].license ?? readLicence(path) }))
  .filter(({ licence }) => !isPermissive(licence));

if (strangers.length > 0) {
  const lines = strangers.map(({ path, licence }) => `${path}: ${licence || 'none'}`);
  console.error(`Licences that are not known to be permissive:\n${lines.join('\n')}`);
  process.exitCode = 1;
}

/** Old packages list several licences, which the lock file leaves out. */
function readLicence(path) {
  const { licenses = [] } = readJson(`${path}/package.json`);
  return licenses.map(({ type }) => type).join(' OR ');
}

/** An SPDX expression without nesting. */
function isPermissive(expression) {
  const choices = expression.replace(/[()]/g, '').split(' OR ');
  return choices.some((all) => all.split(' AND ').every((id) => PERMISSIVE.includes(id)));
}

function readJson(path) {
  return JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'));
}
