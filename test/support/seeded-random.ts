import fc from 'fast-check';

/** How many numbers are drawn at a time. */
const BATCH = 64;

/** Random choices that are the same for the same seed, from fast-check's generator. */
export class SeededRandom {
  private numbers: number[] = [];

  constructor(private seed: number) {}

  /** A whole number from 0 up to, but not including, this one. */
  below(count: number): number {
    return this.next() % count;
  }

  pick<T>(...choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0];
  }

  private next(): number {
    if (this.numbers.length === 0) {
      this.numbers = fc.sample(fc.nat(2 ** 31 - 1), { seed: this.seed, numRuns: BATCH });
      this.seed = (this.seed + 0x9e3779b9) | 0;
    }
    return this.numbers.pop() ?? 0;
  }
}
