/** A request that a load sends many times, with another id in place of `{id}` each time. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: string;
  /** The condition in SQL for the plants whose number it changes by one. */
  readonly counted?: string;
}

/** The token that every contestant accepts. */
export const TOKEN = 'a-token-for-the-benchmark-of-the-plant-store';

const NEW_PLANT = '{"id":{id},"name":"Monstera deliciosa","tag":"indoor"}';

/** The operations, in the order of their measurement. A page has 100 plants, an import many lines. */
export const OPERATIONS = {
  create: { method: 'POST', path: '/plants', body: NEW_PLANT, counted: 'TRUE' },
  import: { method: 'POST', path: '/plants/import', body: `${NEW_PLANT}\n`, counted: 'TRUE' },
  read: { method: 'GET', path: '/plants/{id}' },
  page: { method: 'GET', path: '/plants?limit=100&after={id}' },
  replace: {
    method: 'PUT',
    path: '/plants/{id}',
    // No other plant has this tag.
    body: '{"name":"Monstera deliciosa","tag":"outdoor"}',
    counted: "tag = 'outdoor'",
  },
  remove: { method: 'DELETE', path: '/plants/{id}', counted: 'TRUE' },
} satisfies Record<string, Operation>;

export type OperationName = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];
