import type { DocumentedOperation } from './api-document.js';
import { listTypes } from './api-document.js';
import type { Wanted } from './checks.js';
import { jsonText, readExactly } from './json-text.js';
import type { Expected } from './probe.arbitrary.js';
import { canonicalText, type Entry, pick, type StoreModel } from './store-model.js';

type Done = Extract<Expected, { kind: 'done' }>;
type Content = Readonly<Record<string, unknown>>;

const PRECONDITION_FAILED = 41200;
/** The statuses of valid requests that the stored items may cause. */
const BY_THE_STORE = [404, 409, 410, 412];
const DEFAULT_LIMIT = 100;

/** Lists the codes that the document has for a status. */
function listCodes(operation: DocumentedOperation, status: number): number[] {
  return [...(operation.responses.get(status)?.codes.keys() ?? [])];
}

/** Finds the code with this description in the document. */
function codeWith(operation: DocumentedOperation, words: RegExp): number | undefined {
  const codes = operation.responses.get(409)?.codes ?? new Map<number, string>();
  return [...codes].find(([, text]) => words.test(text))?.[0];
}

/** Determines the expected answer to a create. */
export function expectForCreate(
  content: Content,
  operation: DocumentedOperation,
  model: StoreModel,
  entry: Entry | undefined,
): Wanted {
  const text = model.textOf(content);
  // If the service chooses the keys, a conflict concerns another member.
  const isKnown = model.collection.keys.every((name) => name in content);
  const same = isKnown ? codeWith(operation, /already exists/) : undefined;
  const different = isKnown ? codeWith(operation, /in use/) : undefined;
  if (entry !== undefined) {
    const code = entry.text === text ? same : different;
    return { kind: 'error', errors: code === undefined ? listCodes(operation, 409) : [code] };
  }
  // Other conflicts, such as a reference to a missing item.
  const others = listCodes(operation, 409).filter((code) => code !== same && code !== different);
  return { kind: 'written', text, errors: [...others, ...listCodes(operation, 404)] };
}

/** Determines the expected answer to a request about one item. */
export function expectForItem(
  { content, conditions }: Done,
  operation: DocumentedOperation,
  model: StoreModel,
  entry: Entry | undefined,
): Wanted {
  if (entry === undefined) return { kind: 'error', errors: listCodes(operation, 404) };
  const refused: Wanted = { kind: 'error', errors: [PRECONDITION_FAILED] };
  if (operation.method === 'GET') {
    const outcomes = conditions.map(({ read }) => read);
    if (outcomes.includes('refused')) return refused;
    return { kind: outcomes.includes('not modified') ? 'unmodified' : 'stored', entry };
  }
  if (!conditions.every(({ allowsChange }) => allowsChange)) return refused;
  const errors = listCodes(operation, 409);
  if (operation.method === 'DELETE') return { kind: 'removed', errors };
  return { kind: 'written', text: textAfter(content, operation, model, entry), errors };
}

/** Computes the item after a PUT, or a PATCH with a merge patch (RFC 7396). */
function textAfter(
  content: Content,
  { method, bodySchema }: DocumentedOperation,
  model: StoreModel,
  entry: Entry,
): string {
  const { keys } = model.collection;
  const before = model.readContent(entry);
  const sent = readExactly(jsonText(content)) as Content;
  if (method === 'PATCH') return canonicalText({ ...merged(before, sent), ...pick(before, keys) });
  const replaced = Object.keys(bodySchema?.properties ?? {});
  const kept = Object.keys(before).filter(
    (name) => keys.includes(name) || !replaced.includes(name),
  );
  return canonicalText({ ...pick(sent, model.collection.members), ...pick(before, kept) });
}

function merged(target: unknown, patch: Content): Content {
  const isObject = (value: unknown): value is Content =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) Reflect.deleteProperty(result, name);
    else result[name] = isObject(value) ? merged(result[name], value) : value;
  }
  return result;
}

/**
 * Determines the expected first page, which is exactly known for items in the order of an integer
 * key.
 */
export function expectForList(
  { query }: Done,
  { parameters }: DocumentedOperation,
  model: StoreModel,
): Wanted {
  const others = [...query.keys()].filter((name) => name !== 'limit');
  // A rule between parameters is beyond a schema.
  if (others.length > 1) return { kind: 'any', statuses: [400] };
  const key = findIntegerKey(model);
  const sort = query.get('sort') ?? key;
  const isFiltered = others.some((name) => name !== 'sort');
  if (key === undefined || isFiltered || ![key, `-${key}`].includes(String(sort))) {
    return { kind: 'listed', query, exactly: undefined };
  }
  const usual = parameters.find(({ name }) => name === 'limit')?.schema.default ?? DEFAULT_LIMIT;
  const limit = Number(query.get('limit') ?? usual);
  const keys = model.firstKeys(limit + 1, sort !== key);
  const shown = keys.slice(0, limit);
  const paths = shown.map((key) =>
    model.writePath(model.collection.create.path, keyed(model, key)),
  );
  const next = keys.length > limit ? shown.at(-1) : undefined;
  return {
    kind: 'listed',
    query: new Map([...query, ['limit', String(limit)]]),
    exactly: { paths, ...(next !== undefined && { next: String(next) }) },
  };
}

/** The name of the one key of a collection, where that is an integer. */
function findIntegerKey({ collection: { keys, item } }: StoreModel): string | undefined {
  const [key] = keys;
  const parameter = item.get('GET')?.parameters.find(({ name }) => name === key);
  const isInteger = parameter !== undefined && listTypes(parameter.schema).includes('integer');
  return keys.length === 1 && isInteger ? key : undefined;
}

function keyed({ collection }: StoreModel, key: bigint): Content {
  return Object.fromEntries(collection.keys.map((name) => [name, key]));
}

/** Determines the possible answers to an operation of no collection. */
export function expectForOther(
  operation: DocumentedOperation | undefined,
  { query }: Done,
): Wanted {
  const statuses = BY_THE_STORE.filter((status) => operation?.responses.has(status));
  return { kind: 'any', statuses: query.size > 1 ? [...statuses, 400] : statuses };
}
