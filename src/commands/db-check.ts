import { checkStore } from './check-store.js';
import { CommandError, getStorePath, runCommand } from './command.js';

// npm run db:check -- [file]

await runCommand(async (file, ...others) => {
  if (others.length > 0) throw new CommandError('Name one file: npm run db:check -- [file]');
  const path = file ?? getStorePath();
  const { contents, faults } = await checkStore(path);
  for (const line of contents) console.log(line);
  if (faults.length > 0) throw new CommandError(`${path} is damaged:\n${faults.join('\n')}`);
  console.log('integrity: ok');
});
