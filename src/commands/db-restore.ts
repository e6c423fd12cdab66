import { CommandError, getStorePath, runCommand } from './command.js';
import { restoreStore } from './restore-store.js';

// npm run db:restore -- <file>

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => stopping.abort());
}

await runCommand(async (file, ...others) => {
  if (file === undefined || others.length > 0) {
    throw new CommandError('Name the copy to restore: npm run db:restore -- <file>');
  }
  const store = getStorePath();
  const onProgress = (line: string): boolean => process.stderr.write(`${line}\n`);
  const kept = await restoreStore(file, store, onProgress, stopping.signal);
  if (kept !== undefined) console.log(`The old store is kept as ${kept}`);
  console.log(`${store} is restored from ${file}: start the program`);
});
