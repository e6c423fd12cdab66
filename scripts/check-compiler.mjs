import { existsSync } from 'node:fs';

// Runs before the compiler. npm leaves it out if NODE_ENV is production, which some hosts set.

if (!existsSync(new URL('../node_modules/.bin/nest', import.meta.url))) {
  console.error(
    'The compiler is not installed. To build, first run: npm ci --include=dev. A program that is built already starts with: node dist/main.js',
  );
  process.exitCode = 1;
}
