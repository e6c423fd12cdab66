import { createToken } from '../platform/auth/access-tokens.js';
import { digestToken, parseToken } from '../platform/config/setting-formats.js';
import { CommandError, runCommand } from './command.js';

// npm run new:token -- [name]

await runCommand((name, ...others) => {
  const token = createToken();
  const digest = `sha256:${digestToken(token).toString('hex')}`;
  const entry = name === undefined ? digest : `${name}:${digest}`;
  if (others.length > 0 || parseToken(entry)?.name !== name) {
    throw new CommandError(
      'Name the client in 1 to 64 letters, digits, dots, underscores and hyphens: npm run new:token -- [name]',
    );
  }
  console.log(`For the client:    ${token}`);
  console.log(`For ACCESS_TOKENS: ${entry}`);
});
