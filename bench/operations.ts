/** A request that a load sends many times, with another id in place of `{id}` each time. */
export interface Operation {
  readonly title: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: string;
}

/** The token that every contestant accepts. */
export const TOKEN = 'a-token-for-the-benchmark-of-the-plant-store';

/** The tag of plants that were replaced; no other plant has it. */
export const REPLACED_TAG = 'outdoor';

/** The answer to a create. */
export const PLANT = { name: 'Monstera deliciosa', tag: 'indoor' };

/** The operations that are measured, in this order. An import is no request of a fixed size. */
export const OPERATIONS = {
  create: {
    title: 'creates',
    method: 'POST',
    path: '/plants',
    body: '{"id":{id},"name":"Monstera deliciosa","tag":"indoor"}',
  },
  import: undefined,
  read: { title: 'reads by id', method: 'GET', path: '/plants/{id}' },
  page: { title: 'pages of 100', method: 'GET', path: '/plants?limit=100&after={id}' },
  replace: {
    title: 'replaces',
    method: 'PUT',
    path: '/plants/{id}',
    body: `{"name":"Monstera deliciosa","tag":"${REPLACED_TAG}"}`,
  },
  remove: { title: 'removes', method: 'DELETE', path: '/plants/{id}' },
} satisfies Record<string, Operation | undefined>;

export type OperationName = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];

export function plantBody(id: number): string {
  return OPERATIONS.create.body.replace('{id}', String(id));
}
