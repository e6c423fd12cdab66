import { createRequire } from 'node:module';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';

// Runs many schematics in one process, each as a process that Nest's command line starts: a message
// has the folder and the arguments, and its answer what was printed.

const require = createRequire(import.meta.resolve('@nestjs/cli/package.json'));
const { main } = require('@angular-devkit/schematics-cli/bin/schematics.js');

// Each schematic may wait for the end of its process.
process.setMaxListeners(0);
process.on('message', async ({ folder, args }) => {
  process.chdir(folder);
  const output = new PassThrough();
  const printed = text(output);
  await main({ args, stdout: output, stderr: output });
  output.end();
  process.send(await printed);
});
