import { createToken } from '../auth/access-tokens.js';
import { digestToken, parseToken } from '../config/setting-formats.js';
import { CommandError, runCommand } from './command.js';

const USAGE =
  'Name the client in 1 to 64 letters, digits, dots, underscores and hyphens: npm run new:token -- [name]';

/**
 * Prints a new token and its entry for ACCESS_TOKENS. The name of its client is the argument of the
 * process, and may be left out.
 *
 * @example
 * ```ts
 * await start(async () => printNewToken());
 * ```
 */
export async function printNewToken(): Promise<void> {
  await runCommand(USAGE, 1, (name) => {
    const token = createToken();
    const digest = `sha256:${digestToken(token).toString('hex')}`;
    const entry = name === undefined ? digest : `${name}:${digest}`;
    if (parseToken(entry)?.name !== name) throw new CommandError(USAGE);
    console.log(`For the client:    ${token}`);
    console.log(`For ACCESS_TOKENS: ${entry}`);
  });
}
