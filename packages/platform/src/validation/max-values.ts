import { Reflector } from '@nestjs/core';

export const MAX_VALUES = 3_000;

/**
 * How many values an object of a class may have, at any depth, for class-transformer or
 * class-validator to transform or check it. 3,000 by default, which take up to 25 ms, while other
 * requests wait (`npm run bench:bodies`).
 *
 * @example
 * ```ts
 * @MaxValues(9_000)
 * class PlanDto {}
 * ```
 */
export const MaxValues = Reflector.createDecorator<number>();

/** Counts the values of an object at any depth, up to a little more than a limit. */
export function countValues(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const part of Object.values(value)) {
    if (count > limit) break;
    count += countValues(part, limit - count);
  }
  return count;
}
