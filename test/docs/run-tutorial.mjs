import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

// Applies the diffs of both parts of the tutorial to the working folder, and runs their commands, in
// their order.
// It changes sources, so .ci/run starts it in a copy of the repository.

function listSteps(document) {
  const blocks = readFileSync(document, 'utf8').matchAll(/^```(diff|sh)\n([^]*?)^```$/gm);
  return [...blocks].map(([, language, text]) => ({ language, text }));
}

const steps = ['docs/tutorial.md', 'docs/tutorial-release.md'].flatMap(listSteps);
const [pattern] = listSteps('docs/modules.md');
if (steps[0].text !== pattern.text)
  throw new Error('docs/tutorial.md must begin with the commands of docs/modules.md');

const stdio = ['pipe', 'inherit', 'inherit'];
for (const { language, text } of steps) {
  if (language === 'diff') execFileSync('git', ['apply', '--verbose'], { input: text, stdio });
  else execFileSync('bash', ['-ec', text], { stdio });
}
