import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Proof } from '../proof.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CONFIG = fileURLToPath(new URL('jest.config.mjs', import.meta.url));

/** Runs the test suites in this folder whose paths match one of the arguments, or else all. */
export default ((args) => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-programs-'));
  const report = join(folder, 'report.json');
  // Most tests wait for programs, so a worker for each core is not too many.
  const options = ['--config', CONFIG, '--maxWorkers', '100%', '--json', '--outputFile', report];
  const jest = ['run', 'jest', '--', ...options, ...args];
  const { status } = spawnSync('npm', jest, { cwd: ROOT, stdio: 'inherit' });
  const failed = existsSync(report) ? listFailed(report) : [];
  rmSync(folder, { recursive: true });
  if (status === 0) return Promise.resolve([]);
  return Promise.resolve(failed.length > 0 ? failed : ['Jest fails']);
}) satisfies Proof;

/** The report of Jest, as far as it is read. */
interface Report {
  readonly testResults: readonly {
    /** The path of the file. */
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Lists the names of the tests that failed, and the files that could not be run. */
function listFailed(file: string): string[] {
  const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as Report;
  return testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, assertionResults }) => {
      const tests = assertionResults.filter(({ status }) => status === 'failed');
      return tests.length > 0 ? tests.map(({ fullName }) => fullName) : [name];
    });
}
