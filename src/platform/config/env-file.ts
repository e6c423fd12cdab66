import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { EnvError, listSettings } from './setting.decorators.js';

const FILE = '.env';

/**
 * Reads the file `.env` of the current folder into the environment, when there is one. A variable
 * that is set already wins.
 *
 * @returns the names of the variables that come from the file
 * @throws EnvError
 */
export function loadEnvFile(): string[] {
  const variables = Object.entries(parseEnv(readEnvFile()));
  const added = variables.filter(([name]) => process.env[name] === undefined);
  for (const [name, value] of added) process.env[name] = value;
  return added.map(([name]) => name);
}

/**
 * Describes for the log where the settings come from that are not defaults. It names them without
 * their values, which may be secret.
 *
 * @param fromFile the names of the variables that come from `.env`
 */
export function describeSettings(fromFile: readonly string[]): string {
  const settings = listSettings();
  const isSet = (name: string): boolean => (process.env[name] ?? '') !== '';
  const setInFile = settings.filter((name) => isSet(name) && fromFile.includes(name));
  const others = settings.filter((name) => isSet(name) && !fromFile.includes(name));
  const unknown = fromFile.filter((name) => !settings.includes(name));
  const parts = [
    ...(setInFile.length > 0 ? [`${setInFile.join(', ')} from ${resolve(FILE)}`] : []),
    ...(others.length > 0 ? [`${others.join(', ')} from the environment`] : []),
    ...(setInFile.length + others.length > 0 ? ['else the defaults'] : ['the defaults']),
    ...(unknown.length > 0 ? [`${FILE} has ${unknown.join(', ')}, which is no setting`] : []),
  ];
  return parts.join('; ');
}

function readEnvFile(): string {
  try {
    return readFileSync(FILE, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return '';
    throw new EnvError(`The settings in ${resolve(FILE)} cannot be read: ${message}`);
  }
}
