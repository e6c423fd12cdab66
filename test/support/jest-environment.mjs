import { TestEnvironment } from 'jest-environment-node';

// At the end of a run, Jest gives its workers half a second to exit. Freeing the memory of all
// tests first may take Node longer, and Jest would then report open handles.
process.once('exit', () => process.exit());

export default TestEnvironment;
