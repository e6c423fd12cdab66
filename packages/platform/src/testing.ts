// The names for tests of a service, which run in Jest.

export { type Answer, TestApplication } from './testing/test-application.js';
export * from './testing/clock.js';
export { expectError } from './testing/expect-error.js';
export { ENGINE, TestStore } from './testing/test-store.js';
export { Faults, type Wrong } from './testing/faults.js';
export { TOKEN } from './testing/token.js';
export { until } from './testing/until.js';
