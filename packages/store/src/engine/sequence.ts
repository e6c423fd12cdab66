/** Executes pieces of work one after another, in the order in which they are added. */
export class Sequence {
  /** Resolves when all work that was added so far has ended. */
  private last: Promise<unknown> = Promise.resolve();

  /** Executes work once the work before it has ended, however it has. */
  execute<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.last.then(work);
    this.last = result.catch(() => undefined);
    return result;
  }

  /** Resolves once all work has ended, also the work that is added in the meantime. */
  async end(): Promise<void> {
    let awaited: Promise<unknown>;
    do {
      awaited = this.last;
      await awaited;
    } while (awaited !== this.last);
  }
}
