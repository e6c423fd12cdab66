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
  | { readonly kind: 'replace'; readonly plant: State; readonly condition?: Condition | undefined }
  /** The patch is JSON: a merge patch. */
  | { readonly kind: 'patch'; readonly patch: string; readonly condition?: Condition | undefined }
  | { readonly kind: 'remove'; readonly condition?: Condition | undefined }
  | { readonly kind: 'read'; readonly condition?: Condition | undefined }
  /** Looks for the id on a page, which is filtered by a tag if there is one. */
  | { readonly kind: 'list'; readonly tag?: string | undefined };

/** The status or the code of the error, and the plant of a 200. */
export type Result = string;

/** Applies an operation to a register, which models one id: it holds a plant or none. */
export function apply(
  state: State,
  operation: Operation,
): { readonly state: State; readonly result: Result } {
  switch (operation.kind) {
    case 'create': {
      const { plant } = operation;
      if (state === ABSENT) return { state: plant, result: toOkResult(plant) };
      return { state, result: state === plant ? '40901' : '40900' };
    }
    case 'replace': {
      const { plant, condition } = operation;
      const refusal = findRefusal(state, condition);
      if (refusal !== undefined) return { state, result: refusal };
      return { state: plant, result: toOkResult(plant) };
    }
    case 'patch': {
      const { patch, condition } = operation;
      const refusal = findRefusal(state, condition);
      if (refusal !== undefined) return { state, result: refusal };
      const next = patchState(state, patch);
      return { state: next, result: toOkResult(next) };
    }
    case 'remove': {
      const refusal = findRefusal(state, operation.condition);
      if (refusal !== undefined) return { state, result: refusal };
      return { state: ABSENT, result: '204' };
    }
    case 'read': {
      const refusal = findRefusal(state, operation.condition);
      if (refusal === undefined) return { state, result: toOkResult(state) };
      const isUnchanged = refusal === '41200' && operation.condition?.header === 'If-None-Match';
      return { state, result: isUnchanged ? '304' : refusal };
    }
    case 'list': {
      const isListed = operation.tag === undefined || getTag(state) === operation.tag;
      return { state, result: toOkResult(isListed ? state : ABSENT) };
    }
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

export function getTag(state: State): string | undefined {
  return state === ABSENT ? undefined : (JSON.parse(state) as { tag?: string }).tag;
}

function findRefusal(state: State, condition: Condition | undefined): Result | undefined {
  if (state === ABSENT) return '40401';
  if (condition === undefined) return undefined;
  const isSame = condition.state === state;
  return isSame === (condition.header === 'If-Match') ? undefined : '41200';
}
