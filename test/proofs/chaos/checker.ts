import { ABSENT, apply, type Operation, type Result, type State } from './plant-register.js';

/** An operation as a client has seen it. Times are distinct numbers. */
export interface Call {
  readonly client: number;
  readonly operation: Operation;
  readonly calledAt: number;
  /**
   * Undefined if unknown: then it may have taken effect at any time since, may still do so, or
   * never.
   */
  readonly answer?: { readonly at: number; readonly result: Result } | undefined;
}

/** Each call is one bit of a number. */
const MAX_CALLS = 30;

/**
 * Whether the calls have an order in which each takes effect at one moment between its request and
 * its answer, and in which a register gives these answers. This is Wing and Gong's search with
 * Lowe's cache of tried states.
 */
export function isLinearizable(calls: readonly Call[], initial: State = ABSENT): boolean {
  if (calls.length > MAX_CALLS) throw new RangeError(`more than ${MAX_CALLS} calls`);
  const tried = new Set<string>();
  const answered = calls.reduce(
    (bits, { answer }, index) => (answer === undefined ? bits : bits | (1 << index)),
    0,
  );

  const search = (done: number, state: State): boolean => {
    if ((answered & ~done) === 0) return true;
    const key = `${done} ${state}`;
    if (tried.has(key)) return false;
    tried.add(key);
    const waiting = calls.filter((_, index) => (done & (1 << index)) === 0);
    const firstAnswer = Math.min(...waiting.map(({ answer }) => answer?.at ?? Infinity));
    const changes: [bits: number, state: State][] = [];
    for (const [index, { operation, calledAt, answer }] of calls.entries()) {
      const bit = 1 << index;
      // A call after the answer to another call takes effect after that one.
      if ((done & bit) !== 0 || calledAt > firstAnswer) continue;
      const next = apply(state, operation);
      if (answer !== undefined && answer.result !== next.result) continue;
      // A call that, by its answer, changed nothing can take effect now if that is possible.
      if (answer !== undefined && !isChange(operation, answer.result)) {
        return search(done | bit, state);
      }
      // A call with an unknown outcome that changes nothing now may be left for later.
      if (answer !== undefined || next.state !== state) changes.push([done | bit, next.state]);
    }
    return changes.some(([bits, changed]) => search(bits, changed));
  };
  return search(0, initial);
}

function isChange({ kind }: Operation, result: Result): boolean {
  const isReading = kind === 'read' || kind === 'list';
  return !isReading && result.startsWith('2');
}

/** Describes the calls for people to read, in the order of their requests. */
export function describeCalls(calls: readonly Call[]): string {
  return calls
    .toSorted((a, b) => a.calledAt - b.calledAt)
    .map(({ client, operation: { kind, ...details }, calledAt, answer }) => {
      const end = answer === undefined ? 'unknown' : `${answer.at} ${answer.result}`;
      return `client ${client}: ${calledAt} ${kind} ${JSON.stringify(details)} -> ${end}`;
    })
    .join('\n');
}
