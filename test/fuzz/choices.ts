/**
 * A stream of small choices drawn from one number. The number 0 always chooses the first, so that
 * shrinking the number makes what is chosen plain.
 */
export class Choices {
  constructor(private state: number) {}

  below(count: number): number {
    // xorshift32, which keeps 0 at 0 and never comes to it from elsewhere.
    let state = this.state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.state = state;
    return (state >>> 0) % count;
  }

  pick<T>(first: T, ...others: T[]): T {
    return others[this.below(others.length + 1) - 1] ?? first;
  }
}
