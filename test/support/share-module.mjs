import { createHash } from 'node:crypto';
import { createRequire, register } from 'node:module';
import { pathToFileURL } from 'node:url';

// Jest evaluates every module anew for each test file. For the program and its packages, that takes
// longer than most tests. So a test file gets them from its worker, which loads them once.

register('../../scripts/load-typescript.mjs', import.meta.url);
globalThis.importShared = async (path) => await import(pathToFileURL(path).href);
globalThis.requireShared = createRequire(import.meta.url);

/** Jest's transformers: they turn a module into one that exports what the worker has loaded. */
export default {
  createTransformer: ({ format }) => (format === 'module' ? module : commonjs),
};

const module = {
  getCacheKeyAsync: async (_source, path) => hash((await createModule(path)).code),
  processAsync: async (_source, path) => await createModule(path),
};

const commonjs = {
  getCacheKey: (_source, path) => hash(path),
  process: (_source, path) => ({
    code: `module.exports = requireShared(${JSON.stringify(path)});`,
  }),
};

async function createModule(path) {
  const names = Object.keys(await globalThis.importShared(path));
  const lines = [
    `const shared = await importShared(${JSON.stringify(path)});`,
    ...names.map((name, index) => `const value${index} = shared[${JSON.stringify(name)}];`),
    ...names.map((name, index) => `export { value${index} as ${JSON.stringify(name)} };`),
  ];
  return { code: lines.join('\n') };
}

function hash(text) {
  return createHash('sha256').update(text).digest('hex');
}
