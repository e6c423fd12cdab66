import { tsImport } from 'tsx/esm/api';

// jest loads what runs before the tests as CommonJS, unless it is JavaScript.
const { setup, teardown } = await tsImport('./postgres-setup.ts', import.meta.url);

export { teardown };
export default setup;
