/** The properties of a statement that decide how the query runner sends it. */
export interface SqliteStatement {
  /**
   * `read` changes nothing, `setting` may change the connection, and `control` begins or ends a
   * transaction.
   */
  readonly kind: 'read' | 'write' | 'setting' | 'control';
  /** The first keyword, or the one behind the common table expressions of WITH, in lower case. */
  readonly verb: string;
  /** Whether it writes rows and returns them, by RETURNING. */
  readonly returnsRows: boolean;
  /** Whether a row may be replaced by it, or by what it creates: it has the keyword REPLACE. */
  readonly mayReplace: boolean;
  /** Whether another statement follows it, which the driver would ignore. */
  readonly isFollowed: boolean;
}

/** Comments, and whatever is in quotes or brackets. */
const NO_KEYWORDS = /--[^\n]*|\/\*[^]*?(?:\*\/|$)|'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]/g;
const INNERMOST_PARENTHESES = /\([^()]*\)/g;

const VERBS = /\b(?:select|values|insert|replace|update|delete)\b/i;
const READS = /^(?:select|values|explain)$/;
const CONTROLS = /^(?:begin|commit|end|rollback|savepoint|release)$/;
const SETTINGS = /^(?:pragma|attach|detach)\b/i;
/** The pragmas by which TypeORM reads the schema. */
const SCHEMA_READS =
  /^pragma\s+(?:\w*\s*\.\s*)?(?:table_(?:x?info|list)|index_(?:x?info|list)|foreign_key_(?:check|list))\b/i;
/** The keyword, and not the function. */
const REPLACE = /\breplace\b(?!\s*\()/i;
/** The statements inside a trigger end with semicolons. */
const TRIGGER = /^create\s+(?:temp(?:orary)?\s+)?trigger\b/i;

export function readStatement(sql: string): SqliteStatement {
  const text = sql.replace(NO_KEYWORDS, ' ').trim();
  const verb = findVerb(text);
  return {
    kind: findKind(text, verb),
    verb,
    // SQLite takes this keyword for no name.
    returnsRows: /\breturning\b/i.test(text),
    mayReplace: REPLACE.test(text),
    isFollowed: /;\s*[^;\s]/.test(text) && !TRIGGER.test(text),
  };
}

/** Removes the semicolon that ends a statement, with the comments behind it. */
export function removeSemicolon(sql: string): string {
  const text = sql.replace(NO_KEYWORDS, (part) => ' '.repeat(part.length));
  const end = text.search(/;[;\s]*$/);
  return end === -1 ? sql : sql.slice(0, end);
}

function findVerb(text: string): string {
  const [first = ''] = /^\w+/.exec(text) ?? [];
  if (!/^with$/i.test(first)) return first.toLowerCase();
  let outside = text;
  let length: number;
  do {
    ({ length } = outside);
    outside = outside.replace(INNERMOST_PARENTHESES, '');
  } while (outside.length < length);
  return (VERBS.exec(outside)?.[0] ?? first).toLowerCase();
}

function findKind(text: string, verb: string): SqliteStatement['kind'] {
  if (READS.test(verb) || SCHEMA_READS.test(text)) return 'read';
  if (CONTROLS.test(verb)) return 'control';
  return SETTINGS.test(text) ? 'setting' : 'write';
}
