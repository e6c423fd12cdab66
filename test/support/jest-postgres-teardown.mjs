export { teardown as default } from './jest-postgres-setup.mjs';
