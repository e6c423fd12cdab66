/** How many faults of one request are named. */
const MAX_FAULTS = 100;

/** Lists the faults of a request in one text, each once. */
export function joinFaults(faults: readonly string[]): string {
  const text = [...new Set(faults.slice(0, MAX_FAULTS))].join('; ');
  return faults.length > MAX_FAULTS ? `${text}; and more` : text;
}

/** Whether a value is a promise of any library. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
}

/** Collects what is wrong with one value while it is read and checked. */
export class Check {
  readonly faults: string[] = [];
  private results: Promise<string | undefined>[] | undefined;
  /** The first error that the code of a DTO has thrown. */
  private failure: { readonly error: unknown } | undefined;

  /** @param isSynchronous whether asynchronous rules are left out */
  constructor(readonly isSynchronous = false) {}

  get isFull(): boolean {
    return this.faults.length > MAX_FAULTS;
  }

  /** Whether an asynchronous rule has not ended. */
  get isWaiting(): boolean {
    return this.results !== undefined;
  }

  add(fault: string): void {
    this.faults.push(fault);
  }

  /** Waits for an asynchronous rule, which adds a fault if it rejects. */
  wait(passes: Promise<boolean>, explain: () => string): void {
    const result = passes.then(
      (isValid) => (isValid ? undefined : explain()),
      (error: unknown) => {
        this.fail(error);
        return undefined;
      },
    );
    if (!this.isSynchronous) (this.results ??= []).push(result);
  }

  /**
   * Keeps what the code of a DTO has thrown: a rule, a condition, a transform, a getter or a setter.
   * A wrong value may be the reason, so it counts only if there are no faults.
   */
  fail(error: unknown): void {
    this.failure ??= { error };
  }

  /**
   * Ends the check. Returns a promise if there are asynchronous rules.
   *
   * @returns the faults
   * @throws what the code of a DTO has thrown for a value without faults
   */
  end(): readonly string[] | Promise<readonly string[]> {
    return this.results === undefined ? this.finish() : this.waitForAll(this.results);
  }

  /** Ends a check without asynchronous rules. See {@link end}. */
  finish(): readonly string[] {
    if (this.failure !== undefined && this.faults.length === 0) throw this.failure.error;
    return this.faults;
  }

  private async waitForAll(results: Promise<string | undefined>[]): Promise<readonly string[]> {
    for (const fault of await Promise.all(results)) {
      if (fault !== undefined) this.add(fault);
    }
    return this.finish();
  }
}
