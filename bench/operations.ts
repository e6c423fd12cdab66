/** A request that a load sends many times, with another id in place of `{id}` each time. */
export interface Operation {
  readonly title: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: string;
  /** The condition in SQL for the plants whose number it changes by one. */
  readonly counted?: string;
}

/** The token that every contestant accepts. */
export const TOKEN = 'a-token-for-the-benchmark-of-the-plant-store';

/** The tag of plants that were replaced; no other plant has it. */
export const REPLACED_TAG = 'outdoor';

const NEW_PLANT = '{"id":{id},"name":"Monstera deliciosa","tag":"indoor"}';

/** The operations that are measured, in this order. An import sends many plants in one request. */
export const OPERATIONS = {
  create: { title: 'creates', method: 'POST', path: '/plants', body: NEW_PLANT, counted: 'TRUE' },
  import: {
    title: 'imported lines',
    method: 'POST',
    path: '/plants/import',
    body: `${NEW_PLANT}\n`,
    counted: 'TRUE',
  },
  read: { title: 'reads by id', method: 'GET', path: '/plants/{id}' },
  page: { title: 'pages of 100', method: 'GET', path: '/plants?limit=100&after={id}' },
  replace: {
    title: 'replaces',
    method: 'PUT',
    path: '/plants/{id}',
    body: `{"name":"Monstera deliciosa","tag":"${REPLACED_TAG}"}`,
    counted: `tag = '${REPLACED_TAG}'`,
  },
  remove: { title: 'removes', method: 'DELETE', path: '/plants/{id}', counted: 'TRUE' },
} satisfies Record<string, Operation>;

export type OperationName = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];
