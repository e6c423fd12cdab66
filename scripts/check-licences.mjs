import { readFileSync } from 'node:fs';

// Names every package of the program whose licence asks for more than to be named.
const PERMISSIVE = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
];
const { packages } = JSON.parse(
  readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'),
);

const strangers = Object.entries(packages)
  .filter(([path, { dev }]) => path !== '' && dev !== true)
  .filter(([, { license = '' }]) => {
    const choices = license.replace(/^\((.*)\)$/, '$1').split(' OR ');
    return !choices.some((choice) => PERMISSIVE.includes(choice));
  })
  .map(([path, { license }]) => `${path.replace(/^.*node_modules\//, '')}: ${license ?? 'none'}`);

if (strangers.length > 0) {
  console.error(`Licences that are not known to be permissive:\n${strangers.join('\n')}`);
  process.exitCode = 1;
}
