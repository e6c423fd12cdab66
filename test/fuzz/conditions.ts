import type { Field } from '../support/http/request.js';

/** The placeholder for the ETag of the plant, or of none. */
const CURRENT = '{etag}';

/** A header that makes a request conditional, and its effect if the plant exists. */
export interface Condition {
  readonly header: 'If-Match' | 'If-None-Match';
  /** With {@link CURRENT} in place of the ETag. */
  readonly value: string;
  /** Whether a PUT, a PATCH or a DELETE is carried out. */
  readonly allowsChange: boolean;
  /** The answer to a GET or a HEAD. */
  readonly read: 'whole' | 'not modified' | 'refused';
}

/** Values that have the ETag by the strong comparison of RFC 9110 section 8.8.3.2, and by the weak. */
const STRONG = ['*', CURRENT, ` ${CURRENT} `, `"other", ${CURRENT}`, `${CURRENT},,"a,b" ,`];
/** Values that have the ETag only by the weak comparison. */
const WEAK = [`W/${CURRENT}`, `"a" , W/${CURRENT}`];
/** Lists without it. */
const OTHER = ['"other"', 'W/"other"', '""', '"a","b", W/"c"', '"*"'];
/** Values that are not lists of tags. */
const MALFORMED = ['', ',', 'other', `w/${CURRENT}`, `${CURRENT} "a"`, `*, ${CURRENT}`, '"open'];

export const CONDITIONS: readonly Condition[] = [
  ...STRONG.map(condition('If-Match', true, 'whole')),
  ...[...WEAK, ...OTHER, ...MALFORMED].map(condition('If-Match', false, 'refused')),
  ...[...STRONG, ...WEAK].map(condition('If-None-Match', false, 'not modified')),
  ...OTHER.map(condition('If-None-Match', true, 'whole')),
  ...MALFORMED.map(condition('If-None-Match', false, 'whole')),
];

function condition(
  header: Condition['header'],
  allowsChange: boolean,
  read: Condition['read'],
): (value: string) => Condition {
  return (value) => ({ header, value, allowsChange, read });
}

/** The headers of these conditions, where this is the ETag of the plant. */
export function toFields(conditions: readonly Condition[], etag: string): Field[] {
  return conditions.map(({ header, value }) => [header, value.replaceAll(CURRENT, etag)]);
}
