import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { EnvError } from './setting.decorators.js';

/**
 * Reads the file `.env` of the current folder into the environment, if there is one. A variable
 * that is set already wins.
 *
 * @returns the path of the file; undefined if there is none
 * @throws EnvError when a line is not understood, or the file cannot be read
 * @example
 * ```ts
 * loadEnvFile();
 * const env = loadEnv();
 * ```
 */
export function loadEnvFile(): string | undefined {
  const path = resolve('.env');
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    // process.loadEnvFile() treats a file that it may not read like a missing one.
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new EnvError(`The settings in ${path} cannot be read: ${message}`);
  }
  for (const [name, value] of parseEnvFile(bytes, path)) process.env[name] ??= value;
  return path;
}

const ASSIGNMENT = /^(?:export\s+)?([A-Za-z_]\w*)\s*=(.*)$/;
const QUOTED = /^\s*(['"`])((?:(?!\1).)*)\1\s*(?:#.*)?$/;
/** A `#` begins a comment only after a blank. */
const UNQUOTED = /^\s*((?:[^\s'"`#][^#]*?)?)(?:\s+#.*|\s*)$/;

/**
 * Parses the lines of a `.env` file. Readers of such files differ: Node's takes a line that it does
 * not understand for a part of the next name, and so loses a setting. What systemd, Docker Compose
 * or Node would read differently is refused here.
 *
 * @param path for the messages
 * @throws EnvError with a line for each line that is wrong, without its text
 */
export function parseEnvFile(bytes: Uint8Array, path: string): Map<string, string> {
  const variables = new Map<string, string>();
  const faults: string[] = [];
  const lines = decodeText(bytes, path).split(/\r\n|\n|\r/);
  for (const [index, line] of lines.entries()) {
    const origin = `Line ${index + 1} of ${path}`;
    // trim() also removes a byte order mark, which files that were joined may have in any line.
    const text = line.trim();
    if (text === '' || text.startsWith('#')) continue;
    const [, name, source = ''] = ASSIGNMENT.exec(text) ?? [];
    if (name === undefined) {
      faults.push(`${origin} is not NAME=value, nor a comment`);
      continue;
    }
    const fault = findFault(source);
    if (fault !== undefined) faults.push(`${origin}, ${name}, ${fault}`);
    variables.set(name, QUOTED.exec(source)?.[2] ?? source.replace(UNQUOTED, '$1'));
  }
  if (faults.length > 0) throw new EnvError(faults.join('\n'));
  return variables;
}

/** Says why a value is refused; undefined if it is not. */
function findFault(source: string): string | undefined {
  const [, quote, quoted = ''] = QUOTED.exec(source) ?? [];
  if (quote !== undefined) {
    const hasEscape = quote === '"' && quoted.includes('\\');
    return hasEscape ? 'has a \\ in double quotes: write single quotes' : undefined;
  }
  if (UNQUOTED.test(source)) return undefined;
  return /^\s*['"`]/.test(source)
    ? 'must end with the quote that it begins with, and only there'
    : 'has a # in its value: put the value in single quotes';
}

/** @throws EnvError for UTF-16, and any other text that is not UTF-8 */
function decodeText(bytes: Uint8Array, path: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    // ASCII in UTF-16 without a byte order mark is valid UTF-8, with a NUL beside each character.
    if (!text.includes('\0')) return text;
  } catch {
    // Reported below.
  }
  throw new EnvError(`The settings in ${path} cannot be read: save the file as UTF-8`);
}
