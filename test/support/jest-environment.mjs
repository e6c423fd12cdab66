import { TestEnvironment } from 'jest-environment-node';

// At the end of a run, Jest gives its workers half a second to exit. Node would first free the memory
// of all tests, which takes longer on a busy machine, and Jest would report handles that are open.
process.once('exit', () => process.exit());

export default TestEnvironment;
