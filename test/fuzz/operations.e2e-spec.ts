import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DocumentedService } from './documented-service.js';
import { nameOf, OperationFuzzer } from './operation-fuzzer.js';

// OPERATION_CASES=5000 npm test -- test/fuzz/operations

/** Fixed, so that the suite is the same every time. */
const SEED = Number(process.env.OPERATION_SEED ?? 20_261_121);
const CASES = Number(process.env.OPERATION_CASES ?? 100);
/** How often each kind of thing is created and removed: a dozen requests each. */
const LIVES = Math.ceil(CASES / 3);

let service: DocumentedService;

beforeAll(async () => {
  service = await DocumentedService.start();
});
afterAll(() => service.close());

describe('every operation of the document', () => {
  it('answers made-up requests as the document says, and takes what its schemas accept', async () => {
    const fuzzer = new OperationFuzzer(service.document, service.client, SEED, CASES);
    await fuzzer.run();
    // An operation that none of its requests got through to has not been tested.
    expect(
      service.document.operations.map(nameOf).filter((name) => !fuzzer.carriedOut.has(name)),
    ).toEqual([]);
  });

  it('that creates something has it read, listed, replaced and removed as it was sent', async () => {
    const fuzzer = new OperationFuzzer(service.document, service.client, SEED, LIVES);
    expect(fuzzer.creates.map(nameOf)).toContain('POST /plants');
    for (const create of fuzzer.creates) {
      expect([nameOf(create), (await fuzzer.runLives(create)) > 0]).toEqual([nameOf(create), true]);
    }
  });
});
