import { format } from 'node:util';

/** How many causes of causes of an error are described. */
const MAX_DEPTH = 4;

/**
 * The codes of SQL for a value that cannot be taken. The messages of servers quote the value, in the
 * quotation marks of their language.
 */
const DATA_EXCEPTION = /^22\w{3}$/;
const QUOTATION = /["'«»„“”‘’:].*/s;
/** What findOneOrFail() of TypeORM looked for, in its message. */
const CRITERIA = /(?<=^Could not find any entity of type ".*") matching: .*/s;

/**
 * An error, with the members that errors of Node, axios, TypeORM and the drivers have. Code may
 * throw any other object, so no member has a certain type.
 */
interface KnownError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly stack?: unknown;
  readonly cause?: unknown;
  readonly code?: unknown;
  /** The statement of an error of TypeORM, without its parameters. */
  readonly query?: unknown;
  /** The members of an AggregateError. */
  readonly errors?: unknown;
}

/**
 * What the log says about an error. Its message and its stack are followed by the messages and the
 * stacks of its causes.
 */
interface DescribedError {
  readonly type?: unknown;
  readonly message: string;
  readonly code?: unknown;
  readonly query?: unknown;
  readonly stack?: string | undefined;
  readonly errors?: readonly DescribedError[] | undefined;
}

/**
 * Describes a thrown value for the log, by the members that hold no secret. Others may: the headers
 * of a request (axios), the parameters of a statement (TypeORM), or the row of a client (`detail`
 * and `where` of a server).
 */
export function describeError(thrown: unknown, depth = 0): DescribedError {
  if (typeof thrown !== 'object' || thrown === null) return { message: String(thrown) };
  const known = thrown as KnownError;
  const { name, code, query, cause, errors } = known;
  const message = format('%s', known.message ?? '');
  const stack = typeof known.stack === 'string' ? known.stack : undefined;
  const quoted = DATA_EXCEPTION.test(String(code)) ? QUOTATION : CRITERIA;
  const clean = message.replace(quoted, ' …');
  const own = {
    type: (thrown.constructor as { name: string } | undefined)?.name ?? name,
    message: clean,
    code,
    query,
    stack: stack?.replace(message, () => clean),
  };
  if (depth === MAX_DEPTH) return own;
  if (Array.isArray(errors)) {
    return { ...own, errors: errors.map((error) => describeError(error, depth + 1)) };
  }
  if (cause === undefined) return own;
  const reason = describeError(cause, depth + 1);
  return {
    ...own,
    message: `${own.message}: ${reason.message}`,
    code: code ?? reason.code,
    query: query ?? reason.query,
    stack: `${own.stack}\ncaused by: ${reason.stack ?? reason.message}`,
  };
}

/** Replaces the errors in a value that is logged by their descriptions. */
export function describeErrors(value: unknown, depth = 0): unknown {
  if (value instanceof Error) return describeError(value);
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((one) => describeErrors(one, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([name, one]) => [name, describeErrors(one, depth + 1)]));
}
