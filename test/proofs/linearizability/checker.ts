import { ABSENT, apply, type Operation, type Result, type State } from './plant-register.js';

/** An operation as a client has seen it. Moments are numbers of which no two are the same. */
export interface Call {
  readonly client: number;
  readonly operation: Operation;
  readonly calledAt: number;
  /** undefined when it is unknown: then it has taken effect at any moment since, or will, or never. */
  readonly answer?: { readonly at: number; readonly result: Result } | undefined;
}

/** More would not fit into the bits of a number. */
const MAX_CALLS = 30;

/**
 * Whether the calls can be put in an order in which each takes effect at one moment between its
 * request and its answer, and which a register answers so: Wing and Gong's search, in which Lowe
 * remembers what has been tried.
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
    const firstAnswer = firstAnswerOf(calls, done);
    const changes: [bits: number, state: State][] = [];
    for (const [index, { operation, calledAt, answer }] of calls.entries()) {
      const bit = 1 << index;
      // What was called after the answer of another call comes after that call.
      if ((done & bit) !== 0 || calledAt > firstAnswer) continue;
      const next = apply(state, operation);
      if (answer !== undefined && answer.result !== next.result) continue;
      // What can change nothing, as answered, may as well come now, if it may come now.
      if (answer !== undefined && !isChange(operation, answer.result)) {
        return search(done | bit, state);
      }
      // An unknown outcome that changes nothing now may be left for later.
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

function firstAnswerOf(calls: readonly Call[], done: number): number {
  let first = Infinity;
  for (const [index, { answer }] of calls.entries()) {
    if ((done & (1 << index)) === 0 && answer !== undefined) first = Math.min(first, answer.at);
  }
  return first;
}

/** The calls for people to read, in the order of their requests. */
export function describeCalls(calls: readonly Call[]): string {
  return calls
    .toSorted((a, b) => a.calledAt - b.calledAt)
    .map(({ client, operation: { kind, ...details }, calledAt, answer }) => {
      const end = answer === undefined ? 'unknown' : `${answer.at} ${answer.result}`;
      return `client ${client}: ${calledAt} ${kind} ${JSON.stringify(details)} -> ${end}`;
    })
    .join('\n');
}
