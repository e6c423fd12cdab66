// The names for tests of a service, which run in Jest.

// The application and its store
export { type Answer, TestApplication } from './testing/test-application.js';
export { ENGINE, TestStore } from './testing/test-store.js';
export { TOKEN } from './testing/token.js';
export { expectError } from './testing/expect-error.js';

// Time and faults
export {
  holdTimeouts,
  passSeconds,
  passTimeouts,
  resetClocks,
  setClockBy,
  stopClock,
} from './testing/clock.js';
export { Faults, type Wrong } from './testing/faults.js';
export { until } from './testing/until.js';
