import { tsImport } from 'tsx/esm/api';

// Jest loads TypeScript files that run before the tests as CommonJS.
const { setup, teardown } = await tsImport('./postgres-setup.ts', import.meta.url);

export { teardown };
export default setup;
