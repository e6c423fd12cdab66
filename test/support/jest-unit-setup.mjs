import { jest } from '@jest/globals';

// testTimeout of jest.config.mjs is for all projects. Unit tests start no program and compile
// nothing, so they fail early.
jest.setTimeout(15_000);
