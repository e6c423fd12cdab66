import { backUpStore } from './back-up-store.js';
import { CommandError, getStorePath, formatSize, runCommand } from './command.js';

// npm run db:backup -- <file>

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => stopping.abort());
}

await runCommand(async (target, ...others) => {
  if (target === undefined || others.length > 0) {
    throw new CommandError('Name the file to create: npm run db:backup -- <file>');
  }
  const onProgress = (line: string): boolean => process.stderr.write(`${line}\n`);
  const size = await backUpStore(getStorePath(), target, onProgress, stopping.signal);
  console.log(`${target}: ${formatSize(size)}, complete and sound`);
});
