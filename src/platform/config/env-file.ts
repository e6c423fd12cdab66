import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { EnvError } from './setting.decorators.js';

/**
 * Reads the file `.env` of the current folder into the environment, if there is one. A variable
 * that is set already wins.
 *
 * @returns the path of the file; undefined if there is none
 * @throws EnvError
 */
export function loadEnvFile(): string | undefined {
  const path = resolve('.env');
  try {
    const variables = parseEnv(readFileSync(path, 'utf8'));
    for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
    return path;
  } catch (error) {
    // process.loadEnvFile() treats a file that it may not read like a missing one.
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new EnvError(`The settings in ${path} cannot be read: ${message}`);
  }
}
