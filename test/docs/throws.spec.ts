import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ErrorCatalogue } from 'durable-rest';

/** The text of each file, by its path. A team writes the comments of its modules as it likes. */
const sources = new Map<string, string>();
for (const folder of [
  'src/modules/plants',
  'examples/nursery/src',
  'packages/platform/src',
  'packages/store/src',
]) {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = `${folder}/${name}`;
    if (/(?<!spec)\.ts$/.test(path)) sources.set(path, readFileSync(path, 'utf8'));
  }
}

const general = Object.values(ErrorCatalogue).map(({ error }) => String(error));

/** The codes of the errors of modules, by names such as `PlantErrors.ID_IN_USE`. */
const own = new Map<string, string>();
for (const text of sources.values()) {
  const [, owner = '', errors = ''] = /const (\w+) = defineErrors\(([^]*)/.exec(text) ?? [];
  for (const [, name = '', code = ''] of errors.matchAll(/(\w+): \{\s*error: (\d+)/g)) {
    own.set(`${owner}.${name}`, code);
  }
}

/** Lists the codes of the `@throws ApiError` in a comment. */
function listThrown(comment: string): string[] {
  const [, ...tags] = comment.split('@throws ApiError');
  return tags.flatMap((tag) => tag.split('@', 1)[0]?.match(/\b\d{5,6}\b/g) ?? ['none']);
}

/** Lists the handlers of a controller, with their documented errors and what they call. */
function listHandlers([path, text]: [string, string]): [string, string[], string[]][] {
  const services = [...sources].filter(
    ([other]) => dirname(other) === dirname(path) && other.endsWith('.service.ts'),
  );
  return text.split(/\n\n(?= {2}@)/).flatMap((handler) => {
    const [, method] = /return this\.\w+\.(\w+)\(/.exec(handler) ?? [];
    if (method === undefined) return [];
    const errors = [...(/@ApiErrors\(([^)]*)\)/.exec(handler)?.[1]?.matchAll(/\w+\.\w+/g) ?? [])];
    const documented = errors.map(([name]) => own.get(name) ?? name);
    const comment = new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\s+(?:async )?\\*?${method}\\(`);
    const thrown = services.flatMap(([, service]) => listThrown(comment.exec(service)?.[1] ?? ''));
    const handled: [string, string[], string[]] = [`${path} ${method}`, documented, thrown];
    return [handled];
  });
}

describe('@throws ApiError', () => {
  it.each([...sources].filter(([, text]) => text.includes('@throws ApiError')))(
    'names codes that exist: %s',
    (_, text) => {
      const comments = text.match(/\/\*\*(?:(?!\*\/)[^])*\*\//g) ?? [];
      expect([...general, ...own.values()]).toEqual(
        expect.arrayContaining(comments.flatMap(listThrown)),
      );
    },
  );

  it.each([...sources].filter(([path]) => path.endsWith('.controller.ts')).flatMap(listHandlers))(
    'of what a handler calls is documented by its @ApiErrors(): %s',
    (_, documented, thrown) => {
      const missing = thrown.filter((code) => ![...general, ...documented].includes(code));
      expect(missing).toEqual([]);
    },
  );
});
