export { teardown as default } from './postgres-setup.js';
