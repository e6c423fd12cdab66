import { CommandError, runCommand } from './command.js';
import { copyStore } from './copy-store.js';

// npm run db:copy -- <from> [to]

await runCommand(async (from, to = process.env.DATABASE_URL, ...others) => {
  if (from === undefined || to === undefined || others.length > 0) {
    throw new CommandError(
      'Name two stores as in DATABASE_URL, which is the second by default: npm run db:copy -- <from> [to]',
    );
  }
  for (const [table, rows] of await copyStore(from, to)) {
    console.log(`${table}: ${rows}, the same in both`);
  }
});
