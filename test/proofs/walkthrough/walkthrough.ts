import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inNewFolder } from '../../support/new-folder.js';
import type { Proof } from '../proof.js';

// Adds modules to a copy of the project, following docs/adding-a-module.md, whose last step checks
// the whole project. Without --whole it omits the tests that a module cannot break.

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const LEFT_OUT = ['.git', 'node_modules', 'dist', 'data', 'coverage'];
const BLOCK = /^```(\w+)(?: (\S+))?\n(.*?)^```$/gms;
const CHECK = 'npm run check';
/** The document itself runs the tests that a new module can break; all others have passed before. */
const BRIEF_CHECK = [
  'npx prettier --check src docs',
  'npx eslint --max-warnings 0 src/modules',
  'npm run typecheck',
].join(' && ');

export default {
  summary: 'adds modules to a copy, as docs/adding-a-module.md says',
  takes: '4 min',
  options: { whole: { summary: 'ends with all of npm run check', isSwitch: true } },
  run: async (options) => {
    await inNewFolder(async (folder) => {
      const copy = new Copy(folder);
      const before = copy.fileTexts();
      copy.followDocument(options.isOn('whole') ? CHECK : BRIEF_CHECK);
      printSize(before, copy.fileTexts());
      return Promise.resolve();
    });
    return [];
  },
} satisfies Proof;

/** A copy of the project. */
class Copy {
  constructor(private readonly folder: string) {
    cpSync(ROOT, folder, {
      recursive: true,
      filter: (path) => !LEFT_OUT.includes(basename(path)),
    });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  }

  /** @param check the command to run instead of {@link CHECK} */
  followDocument(check: string): void {
    const text = readFileSync(join(ROOT, 'docs/adding-a-module.md'), 'utf8');
    for (const [, language, path, block = ''] of text.matchAll(BLOCK)) {
      if (path !== undefined) console.log(path);
      if (language === 'sh') this.run(block.replace(CHECK, check));
      else if (path === undefined) throw new Error(`a block without a path:\n${block}`);
      else if (language === 'diff') edit(this.findFile(path), block);
      else write(join(this.folder, path), block);
    }
  }

  /** Finds the one file of a path, whose name may contain `*`. */
  private findFile(path: string): string {
    const [before = '', after] = basename(path).split('*');
    if (after === undefined) return join(this.folder, path);
    const folder = join(this.folder, dirname(path));
    const [name, ...others] = readdirSync(folder).filter(
      (one) => one.startsWith(before) && one.endsWith(after),
    );
    if (name === undefined || others.length > 0) throw new Error(`${path} is not one file`);
    return join(folder, name);
  }

  run(commands: string): void {
    console.log(commands);
    const began = performance.now();
    execFileSync('sh', ['-ec', commands], { cwd: this.folder, stdio: 'inherit' });
    console.log(`${((performance.now() - began) / 1_000).toFixed()} s`);
  }

  /** Reads the texts of the files that authors write, by their paths. */
  fileTexts(): Map<string, string> {
    const files = ['src', 'test'].flatMap((folder) =>
      readdirSync(join(this.folder, folder), { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.ts'))
        .map((path) => join(folder, path)),
    );
    return new Map(files.map((path) => [path, readFileSync(join(this.folder, path), 'utf8')]));
  }
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Replaces the lines that begin with a space or a minus by those with a space or a plus. */
function edit(file: string, diff: string): void {
  const lines = readFileSync(file, 'utf8').split('\n');
  const edits = diff.trimEnd().split('\n');
  const pick = (without: string): string[] =>
    edits.filter((line) => !line.startsWith(without)).map((line) => line.slice(1));
  const old = pick('+');
  const places = lines.flatMap((_, index) =>
    old.every((line, offset) => line.trim() === lines[index + offset]?.trim()) ? [index] : [],
  );
  const [place] = places;
  if (place === undefined || places.length > 1) {
    throw new Error(`${file} has these lines ${places.length} times, not once:\n${old.join('\n')}`);
  }
  lines.splice(place, old.length, ...pick('-'));
  writeFileSync(file, lines.join('\n'));
}

/** Prints how many files and lines the module has added. */
function printSize(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): void {
  const sizes = new Map<string, { files: number; lines: number }>();
  for (const [path, text] of after) {
    const old = before.get(path);
    if (old === text) continue;
    const isTest = path.startsWith('test/');
    const place = isTest ? 'in test' : old === undefined ? 'in its folder' : 'of others';
    const { files, lines } = sizes.get(place) ?? { files: 0, lines: 0 };
    sizes.set(place, {
      files: files + 1,
      lines: lines + countLines(text) - countLines(old ?? ''),
    });
  }
  for (const [place, { files, lines }] of sizes) {
    console.log(`The module took ${lines} lines in ${files} files ${place}.`);
  }
}

function countLines(text: string): number {
  return text.split('\n').filter((line) => line.trim() !== '').length;
}
