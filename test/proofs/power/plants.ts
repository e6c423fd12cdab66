import { spreadId } from '../crash/crash-ledger.js';
import type { NewPlant } from '../../support/plant-requests.js';

/** The plant of this number, which its name, its id and its request's X-Request-Id tell. */
export function plantOf(number: number): NewPlant {
  const name = `plant-${number}.`;
  const plant = {
    id: spreadId(number),
    name: number % 40 === 0 ? name.padEnd(5_000, ' é☘') : name,
  };
  return number % 3 === 0 ? { ...plant, tag: 'indoor' } : plant;
}

export function requestIdOf(number: number): string {
  return `plant-${number}`;
}

/** The numbers of the plants that these bytes name. */
export function numbersIn(bytes: Buffer | string): number[] {
  return [...bytes.toString('latin1').matchAll(/plant-(\d+)\b/g)].map(([, number]) =>
    Number(number),
  );
}
