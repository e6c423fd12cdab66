import { loadEnvFile } from '../config/env-file.js';
import { loadEnv } from '../config/env.js';
import { parseDatabaseUrl } from 'durable-store';
import { OperatorError } from '../errors/operator.error.js';
import { printFailure } from '../observability/print-failure.js';

/** A command cannot do its work. */
export class CommandError extends OperatorError {}

/**
 * Runs a command with the arguments of the command line. A failure prints one sentence to standard
 * error and sets exit code 1.
 *
 * @param usage the failure for more arguments than `most`, or for an option such as `--help`
 */
export async function runCommand(
  usage: string,
  most: number,
  command: (...args: (string | undefined)[]) => Promise<void> | void,
): Promise<void> {
  try {
    const args = process.argv.slice(2);
    const hasOption = args.some((arg) => arg.startsWith('-'));
    if (hasOption || args.length > most) throw new CommandError(usage);
    loadEnvFile();
    await command(...args);
  } catch (error) {
    printFailure('The command failed', error);
  }
}

/**
 * Reads the path of the SQLite store from DATABASE_URL; the rest of the environment is not checked.
 *
 * @throws EnvError, CommandError
 */
export function getStorePath(): string {
  const { DATABASE_URL } = loadEnv({ DATABASE_URL: process.env.DATABASE_URL });
  const url = parseDatabaseUrl(DATABASE_URL);
  if (url?.type === 'postgres') {
    throw new CommandError(
      'DATABASE_URL names a PostgreSQL database, and this command is for SQLite files: use pg_dump to back it up, pg_restore to restore it, and pg_amcheck to check it',
    );
  }
  if (url?.type !== 'sqlite' || url.path === ':memory:') {
    throw new CommandError('DATABASE_URL names a store in memory, which no other program can read');
  }
  return url.path;
}
