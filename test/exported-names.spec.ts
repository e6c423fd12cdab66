import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';

const EXPORTED =
  /^export (?:declare |abstract |async )*(?:class|const|enum|function\*?|interface|let|type) (\w+)/gm;
/** Both engines have the same names for the same things. */
const ENGINES = /^packages\/store\/src\/(?:engines\/)?(?:sqlite|postgres)\//;

it('a name that the packages export means one thing', () => {
  const files = new Map<string, string[]>();
  for (const folder of ['packages/store/src', 'packages/platform/src']) {
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const path = `${folder}/${file}`;
      if (!/(?<!spec|\.d)\.ts$/.test(path) || ENGINES.test(path)) continue;
      for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(EXPORTED)) {
        files.set(name, [...(files.get(name) ?? []), path]);
      }
    }
  }
  // A decorator may have the name of its type.
  const exportedTwice = [...files].filter(([, paths]) => new Set(paths).size > 1);
  expect(Object.fromEntries(exportedTwice)).toEqual({});
});
