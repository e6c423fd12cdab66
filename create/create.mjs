#!/usr/bin/env node
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// create-durable-rest <name>: writes a service into a new folder.

/** Linux takes no longer name of a user, and the service runs as a user of its name. */
const MAX_LENGTH = 31;
const DIST = new URL('dist/', import.meta.url);

const [name = '', ...others] = process.argv.slice(2);
const fault = findFault();
if (fault === undefined) {
  create();
} else {
  console.error(fault);
  process.exitCode = 1;
}

function findFault() {
  const isName = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(name) && name.length <= MAX_LENGTH;
  if (!isName || others.length > 0) {
    return `Give the service one name: lowercase letters, digits and hyphens, at most ${MAX_LENGTH} characters, such as garden-beds`;
  }
  return existsSync(name)
    ? `There is a file or folder ${name} here: choose another name`
    : undefined;
}

function create() {
  const skeleton = JSON.parse(readFileSync(new URL('skeleton.json', DIST), 'utf8'));
  for (const [path, text] of Object.entries(skeleton)) write(fill(path), fill(text));
  cpSync(new URL('vendor/', DIST), join(name, 'vendor'), { recursive: true });
  console.log(`The service is in the folder ${name}. Now:

  cd ${name}
  npm install
  npm start`);
}

function write(path, text) {
  const file = join(name, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function fill(text) {
  const words = name.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return text.replaceAll('{{name}}', name).replaceAll('{{title}}', words.join(' '));
}
