import type { TestApp } from './test-app.js';

/** The members of a JSON object, each as JSON; one that is undefined is left out. */
export type Members = Readonly<Record<string, string | undefined>>;

/** Writes the JSON object with these members, in their order. */
export function writeMembers(members: Members): string {
  const texts = Object.entries(members)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${value ?? ''}`);
  return `{${texts.join()}}`;
}

/** Writes the path of the row with a key. */
export function pathTo(collection: string, key: Members): string {
  const parts = Object.values(key).map((value) => value?.replace(/^"(.*)"$/, '$1') ?? '');
  return `/${[collection, ...parts.map(encodeURIComponent)].join('/')}`;
}

const made = new WeakMap<TestApp, Map<string, Promise<string>>>();

/** Makes a value that the tests of an application share once, by its name. */
export function oncePerApp(
  app: TestApp,
  name: string,
  make: () => Promise<string>,
): Promise<string> {
  const known = made.get(app) ?? new Map<string, Promise<string>>();
  made.set(app, known);
  const value = known.get(name) ?? make();
  known.set(name, value);
  return value;
}
