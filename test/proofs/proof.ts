import { randomInt } from 'node:crypto';

/**
 * A program that proves one promise from outside and takes too long for `npm test`: the default
 * export of `test/proofs/<name>/<name>.ts`. It gets the arguments of the command line, and resolves
 * with the faults that it found.
 */
export type Proof = (args: string[]) => Promise<readonly string[]>;

/** An option of `parseArgs()`. By default, a proof makes other choices each time. */
export const SEED = { seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) } } as const;

/** Reads the value of an option that must be a number from 0. */
export function parseNumber(value: string): number {
  const number = Number(value);
  if (value !== '' && number >= 0) return number;
  throw new RangeError(`${JSON.stringify(value)} must be a number from 0`);
}
