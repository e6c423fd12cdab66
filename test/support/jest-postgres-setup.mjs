import { tsImport } from 'tsx/esm/api';

// Jest loads TypeScript files that run before the tests as CommonJS.
const { default: setup, teardown } = await tsImport(
  '../../packages/platform/src/testing/postgres-setup.ts',
  import.meta.url,
);

export { setup as default, teardown };
