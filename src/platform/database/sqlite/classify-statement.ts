/**
 * The kind of a statement: `read` changes nothing, `write` needs the write lock, `alter` needs it
 * and also changes the connection itself, and `control` begins or ends a transaction.
 */
export type StatementKind = 'read' | 'write' | 'alter' | 'control';

const COMMENTS = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)+/;
const READS = /^(?:select|values|explain)\b/i;
const CHANGES = /\b(?:insert|update|delete|replace)\b/i;
const CONTROLS = /^(?:begin|commit|end|rollback|savepoint|release)\b/i;
const ALTERS = /^(?:pragma|attach|detach|create\s+temp(?:orary)?)\b/i;
/** PRAGMAs that only report, with an argument or without. */
const REPORTING_PRAGMAS =
  /^pragma\s+(?:\S+\.)?(?:table_(?:x?info|list)|index_(?:x?info|list)|foreign_key_(?:list|check)|(?:integrity|quick)_check|(?:database|collation|function|compile_option)s?(?:_list)?)\s*(?:\(|;|$)/i;
/** A PRAGMA without an argument returns a value, unless it is one that acts. */
const PRAGMA_VALUE = /^pragma\s+(?!\S*(?:checkpoint|optimize|vacuum|shrink))[\w."]+\s*;?\s*$/i;

/** Classifies a statement by its words. In doubt it counts as a write. */
export function classifyStatement(sql: string): StatementKind {
  const text = sql.replace(COMMENTS, '');
  if (READS.test(text)) return 'read';
  if (/^with\b/i.test(text)) return CHANGES.test(text) ? 'write' : 'read';
  if (CONTROLS.test(text)) return 'control';
  if (REPORTING_PRAGMAS.test(text) || PRAGMA_VALUE.test(text)) return 'read';
  return ALTERS.test(text) ? 'alter' : 'write';
}
