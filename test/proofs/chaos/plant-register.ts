/** A plant as the JSON of its members in their order, without the id; empty if there is none. */
export type State = string;

export const ABSENT: State = '';

/** The ETag that the plant must have, or must not have, for a request to be handled. */
export interface Condition {
  readonly header: 'If-Match' | 'If-None-Match';
  /** The plant whose ETag is sent. */
  readonly state: State;
}

/** A request about one id. */
export type Operation =
  | { readonly kind: 'create'; readonly plant: State }
  /** Looks for the id on a page, which is filtered by a tag if there is one. */
  | { readonly kind: 'list'; readonly tag?: string | undefined }
  | ConditionalOperation;

type ConditionalOperation = { readonly condition?: Condition | undefined } & (
  | { readonly kind: 'replace'; readonly plant: State }
  /** The patch is JSON: a merge patch. */
  | { readonly kind: 'patch'; readonly patch: string }
  | { readonly kind: 'remove' | 'read' }
);

/** The status or the code of the error, and the plant of a 200. */
export type Result = string;

/** Applies an operation to a register, which models one id: it holds a plant or none. */
export function apply(
  state: State,
  operation: Operation,
): { readonly state: State; readonly result: Result } {
  if (operation.kind === 'create') {
    const { plant } = operation;
    if (state === ABSENT) return { state: plant, result: toOkResult(plant) };
    return { state, result: state === plant ? '40901' : '40900' };
  }
  if (operation.kind === 'list') {
    const isListed = operation.tag === undefined || getTag(state) === operation.tag;
    return { state, result: toOkResult(isListed ? state : ABSENT) };
  }
  const refusal = findRefusal(state, operation);
  if (refusal !== undefined) return { state, result: refusal };
  if (operation.kind === 'remove') return { state: ABSENT, result: '204' };
  const next = findNext(state, operation);
  return { state: next, result: toOkResult(next) };
}

function findNext(state: State, operation: ConditionalOperation): State {
  if (operation.kind === 'replace') return operation.plant;
  return operation.kind === 'patch' ? patchState(state, operation.patch) : state;
}

function patchState(state: State, patch: string): State {
  const { name, tag } = { ...(JSON.parse(state) as object), ...(JSON.parse(patch) as object) } as {
    name: string;
    tag?: string | null;
  };
  return JSON.stringify({ name, tag: tag ?? undefined });
}

export function toOkResult(state: State): Result {
  return `200 ${state}`;
}

function getTag(state: State): string | undefined {
  return state === ABSENT ? undefined : (JSON.parse(state) as { tag?: string }).tag;
}

function findRefusal(state: State, { kind, condition }: ConditionalOperation): Result | undefined {
  if (state === ABSENT) return '40401';
  if (condition === undefined) return undefined;
  const isMatch = condition.header === 'If-Match';
  if ((condition.state === state) === isMatch) return undefined;
  return kind === 'read' && !isMatch ? '304' : '41200';
}
