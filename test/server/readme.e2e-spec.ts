import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { TOKEN } from 'durable-rest/testing';
import { TestApp } from '../support/test-app.js';

const ROOT = new URL('../../', import.meta.url).pathname;
const README = readFileSync(`${ROOT}README.md`, 'utf8');
const CONSOLE = /^```console\n(.*?)^```$/ms;
/** The lines of an answer up to its body, and those of them that README shows. */
const HEADERS = /^HTTP\/.*?^$/ms;
const SHOWN_HEADER = /^(HTTP\/|ETag:|$)/;
const END = '-- end --';

const app = TestApp.forAll();

it('README shows the output of curl', async () => {
  const [, session = ''] = CONSOLE.exec(README) ?? [];
  const steps = session.split(/^\$ /m).slice(1);
  const commands = steps.map((step) => step.slice(0, step.indexOf('\n')));
  expect(commands.filter((command) => command.startsWith('curl '))).toHaveLength(5);

  const answers = await run(
    commands.map((command) =>
      command.replace('http://127.0.0.1:3000', app.url.origin).replace('<token>', TOKEN),
    ),
  );
  const shown = answers.map((answer, index) => `${commands[index] ?? ''}\n${answer}`.trimEnd());
  expect(shown).toEqual(steps.map((step) => step.trimEnd()));
});

/** Runs the commands, and resolves with their output as README shows it. */
async function run(commands: readonly string[]): Promise<string[]> {
  const script = commands.map((command) => `${command}\necho '${END}'`).join('\n');
  const { stdout } = await promisify(execFile)('sh', ['-ec', script]);
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
