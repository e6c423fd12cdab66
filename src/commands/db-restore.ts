import { loadEnv } from '../platform/config/env.js';
import { CommandError, getStorePath, runCommand } from './command.js';
import { beginEpoch } from './begin-epoch.js';
import { restoreStore } from './restore-store.js';

// npm run db:restore -- <file>
// npm run db:restore -- --new-epoch

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => stopping.abort());
}

await runCommand(async (file, ...others) => {
  if (file === undefined || others.length > 0) {
    throw new CommandError(
      'Name the copy to restore: npm run db:restore -- <file>, or --new-epoch after a restore by other tools',
    );
  }
  if (file === '--new-epoch') {
    const isOn = await beginEpoch(loadEnv({ DATABASE_URL: process.env.DATABASE_URL }).DATABASE_URL);
    console.log(
      isOn ? 'A new epoch of the feed of changes has begun' : 'No changes are recorded here',
    );
    return;
  }
  const store = getStorePath();
  const onProgress = (line: string): boolean => process.stderr.write(`${line}\n`);
  const kept = await restoreStore(file, store, onProgress, stopping.signal);
  if (kept !== undefined) console.log(`The old store is kept as ${kept}`);
  console.log(`${store} is restored from ${file}: start the program`);
});
