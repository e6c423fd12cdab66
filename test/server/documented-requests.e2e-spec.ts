import { beforeEach, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { TOKEN } from 'durable-rest/testing';
import { FEED } from '../support/change-feed.js';
import { inNewFolder } from '../support/new-folder.js';
import { TestApp } from '../support/test-app.js';

const ROOT = new URL('../../', import.meta.url).pathname;
const CONSOLE = /^```console\n(.*?)^```$/gms;
/** A command may go on in indented lines. */
const COMMAND = /^\$ .*(?:\n +.*)*/;
/** The lines of an answer up to its body, and those of them that documents show. */
const HEADERS = /^HTTP\/.*?^$/ms;
const SHOWN_HEADER = /^(HTTP\/|ETag:|Link:|$)/;
const END = '-- end --';

const app = TestApp.forAll(FEED);

beforeEach(async () => {
  await app.query('DELETE FROM plants');
});

it.each([
  ['README.md', 5],
  ['docs/api.md', 9],
  ['docs/errors.md', 2],
])('%s shows the requests of curl with their answers', async (document, count) => {
  const text = readFileSync(ROOT + document, 'utf8');
  const sessions = [...text.matchAll(CONSOLE)].map(([, session = '']) => session);
  const steps = sessions.flatMap((session) => session.split(/^(?=\$ )/m));
  const commands = steps.map((step) => COMMAND.exec(step)?.[0] ?? '');
  expect(commands.filter((command) => command.startsWith('$ curl '))).toHaveLength(count);

  const answers = await run(commands.map((command) => command.slice('$ '.length)));
  const shown = answers.map((answer, index) => `${commands[index] ?? ''}\n${answer}`.trimEnd());
  expect(shown).toEqual(steps.map((step) => step.trimEnd()));
});

/** Runs commands against the application, and resolves with their output as documents show it. */
async function run(commands: readonly string[]): Promise<string[]> {
  const script = commands
    .map((command) => `${command}\necho '${END}'`)
    .join('\n')
    .replaceAll('http://127.0.0.1:3000', app.url.origin)
    .replaceAll(/<token>|\$\(cat data\/development-token\)/g, TOKEN);
  const { stdout } = await inNewFolder((cwd) =>
    promisify(execFile)('sh', ['-ec', script], { cwd, env: { ...process.env, TOKEN } }),
  );
  const outputs = stdout.replaceAll('\r', '').split(`${END}\n`).slice(0, -1);
  return outputs.map((output) =>
    output
      .replace(HEADERS, (headers) =>
        headers
          .split('\n')
          .filter((line) => SHOWN_HEADER.test(line))
          .join('\n'),
      )
      .trim(),
  );
}
