/** A request that a load sends many times, with another id in place of `{id}` each time. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: string;
  /** A header, in place of the media type of the body. */
  readonly header?: string;
}

export interface Operation extends Request {
  /** The condition in SQL for the plants whose number it changes by one. */
  readonly counted?: string;
  /** The number of connections, in place of the one that the caller asks for. */
  readonly connections?: number;
  /** Other requests that are sent meanwhile, on so many further connections. */
  readonly beside?: Request & { readonly connections: number };
  /** Statements that are executed before. */
  readonly sql?: readonly string[];
}

/** The token that every contestant accepts. */
export const TOKEN = 'a-token-for-the-benchmark-of-the-plant-store';

const NEW_PLANT = '{"id":{id},"name":"Monstera deliciosa","tag":"indoor"}';
const CREATE = { method: 'POST', path: '/plants', body: NEW_PLANT, counted: 'TRUE' } as const;
/** The path of neighbours.mjs. */
export const NEIGHBOURS = '/neighbours';
/** An import is a body of 90 kB, since the load gets it as an argument. */
const REFUSED_LINES = '{"id":0}\n'.repeat(10_000);
const LINES = 'application/x-ndjson';

/** Creates beside others that violate a constraint, by the name of their plants. */
function besideViolators(name: string, ...sql: string[]): Operation {
  const body = NEW_PLANT.replace('Monstera deliciosa', name);
  return { ...CREATE, sql, beside: { ...CREATE, body, connections: 64 } };
}

/** Creates beside a few requests that take long. */
function beside(request: Request): Operation {
  return { ...CREATE, beside: { ...request, connections: 4 } };
}

/** The operations that the other services have too. A page has 100 plants, an import many lines. */
const SHARED = {
  create: CREATE,
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

const OWN = {
  patch: { method: 'PATCH', path: '/plants/{id}', body: '{"tag":"indoor {id}"}' },
  'hot-row': {
    method: 'PATCH',
    path: '/plants/0',
    body: '{"name":"{id}"}',
    sql: ["INSERT INTO plants (id, name) VALUES (0, '')"],
  },
  transaction: { method: 'POST', path: NEIGHBOURS },
  crowd: { ...CREATE, connections: 1_024 },
  'beside-refused-lines': beside({
    method: 'POST',
    path: '/plants/import',
    body: REFUSED_LINES,
    header: `Content-Type: ${LINES}`,
  }),
  'beside-exports': beside({ method: 'GET', path: '/plants', header: `Accept: ${LINES}` }),
  'beside-transactions': beside({ method: 'POST', path: NEIGHBOURS }),
  'beside-slow-reads': beside({ method: 'GET', path: NEIGHBOURS }),
  'beside-check': besideViolators(
    'refused',
    "ALTER TABLE plants ADD COLUMN checked integer CHECK (name <> 'refused')",
  ),
  'beside-unique-key': besideViolators(
    'taken',
    "CREATE UNIQUE INDEX taken_name ON plants (name) WHERE name = 'taken'",
    "INSERT INTO plants (id, name) VALUES (-1, 'taken')",
  ),
  'beside-foreign-key': besideViolators(
    'orphan',
    'CREATE TABLE parents (id bigint PRIMARY KEY)',
    `ALTER TABLE plants ADD COLUMN parent bigint
       GENERATED ALWAYS AS (CASE name WHEN 'orphan' THEN 1 END) STORED REFERENCES parents (id)`,
  ),
} satisfies Record<string, Operation>;

const { remove, ...others } = SHARED;

/** In the order of their measurement: after removals, others would find no plants. */
export const OPERATIONS = { ...others, ...OWN, remove };

export type OperationName = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];
export const SHARED_OPERATIONS = Object.keys(SHARED) as OperationName[];
