import { readFileSync } from 'node:fs';

const packageFile = new URL('../../../package.json', import.meta.url);

/** The version of the program, from package.json. The interface has a version of its own. */
export const { version: VERSION } = JSON.parse(readFileSync(packageFile, 'utf8')) as {
  readonly version: string;
};
