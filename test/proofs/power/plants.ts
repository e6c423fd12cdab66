import type { NewPlant } from '../../support/plant-requests.js';

/**
 * Makes the plant of a number, which its name, its id and the X-Request-Id of its request contain.
 */
export function makePlant(number: number): NewPlant {
  const name = `plant-${number}.`;
  const plant = {
    // A different id for each number, spread over all int64 values.
    id: BigInt.asIntN(64, BigInt(number) * 0x9e3779b97f4a7c15n),
    name: number % 40 === 0 ? name.padEnd(5_000, ' é☘') : name,
  };
  return number % 3 === 0 ? { ...plant, tag: 'indoor' } : plant;
}

export function makeRequestId(number: number): string {
  return `plant-${number}`;
}

/** Lists the numbers of the plants in these bytes. */
export function numbersIn(bytes: Buffer | string): number[] {
  return [...bytes.toString('latin1').matchAll(/plant-(\d+)\b/g)].map(([, number]) =>
    Number(number),
  );
}
