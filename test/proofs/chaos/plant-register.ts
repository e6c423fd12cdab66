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
  | { readonly kind: 'create'; readonly body: State }
  /** Looks for the id on a page, which is filtered by a tag if there is one. */
  | { readonly kind: 'list'; readonly tag?: string | undefined }
  | ConditionalOperation;

type ConditionalOperation = { readonly condition?: Condition | undefined } & (
  | { readonly kind: 'remove' | 'read' }
  /** The body of a patch is a JSON merge patch. */
  | { readonly kind: 'replace' | 'patch'; readonly body: string }
);

/** The status or the code of the error, and the plant of a 200. */
export type Result = string;

interface Step {
  readonly state: State;
  readonly result: Result;
}

/** Applies an operation to a register, which models one id: it holds a plant or none. */
export function apply(state: State, operation: Operation): Step {
  const stay = (result: Result): Step => ({ state, result });
  const become = (next: State): Step => ({ state: next, result: toOkResult(next) });
  if (operation.kind === 'create') {
    if (state === ABSENT) return become(operation.body);
    return stay(state === operation.body ? '40901' : '40900');
  }
  if (operation.kind === 'list') {
    const isListed = operation.tag === undefined || getTag(state) === operation.tag;
    return stay(toOkResult(isListed ? state : ABSENT));
  }
  const refusal = findRefusal(state, operation);
  if (refusal !== undefined) return stay(refusal);
  switch (operation.kind) {
    case 'replace':
      return become(operation.body);
    case 'patch':
      return become(patchState(state, operation.body));
    case 'read':
      return become(state);
    case 'remove':
      return { state: ABSENT, result: '204' };
  }
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
