// Texts at which programs go wrong, as data.

/** The words of a text: `words` followed by a template, in which a backslash is a backslash. */
export function words({ raw }: TemplateStringsArray): string[] {
  return raw.join('').trim().split(/\s+/);
}

/** Integers at which a program that computes in doubles, or in fewer bits, goes wrong. */
export const EDGE_INTEGERS: readonly bigint[] = [
  ...[0n, 1n, -1n, 10n, 2n ** 31n - 1n, 2n ** 31n, -(2n ** 31n) - 1n, 2n ** 32n],
  ...[2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n, -(2n ** 53n) - 1n],
  ...[2n ** 63n - 1n, 2n ** 63n - 2n, 2n ** 63n - 8n, -(2n ** 63n), -(2n ** 63n) + 1n],
];

/** JSON that is no string that can be stored. */
export const NOT_TEXTS: readonly string[] = words`
  1 true {} {"toString":"a"} {"$ne":null} ["a"] "\u0000" "a\u0000b" "\ud800" "\udc00\ud800"`;

/** Texts that programs are known to change, drop, run or trip over. */
export const ODD_TEXTS: readonly string[] = [
  ...words`👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿 Z͑͗͢L̠ͨG̴̑ مَنَوَات 田中さん జ్ఞ‌ా \ " ' / \u0041 \0 %00 null NaN true __proto__
    {} %s%n%d {{7*7}} $(id) ../../etc/passwd %0d%0aSet-Cookie:a=b <script>alert(1)</script>`,
  ...['${jndi:ldap://localhost/a}', "'; DROP TABLE plants; --", '?1 :name @name $name'],
  ...['', ' ', '  a  ', '\t', '\n', '\r\n', '\u001f\u0001', '\u007f\u0085'],
  // Invisible, directing, or not characters at all.
  ...['\u200b', 'a\u00a0', '\ufeffa', '\u202eabc', '\u2028\u2029', '\ufffd', '\ufffe\uffff'],
  ...['\u{10ffff}', '\u{10000}', '\ud7ff\ue000'],
  // Equal, or longer, after a change of case or a normalization.
  ...['e\u0301', '\u00e9', '\ufb01', '\u0130', '\u0131', '\u00df', '\u212b', '\u00c5'],
];

/** JSON values that are not int64 integers. */
export const INVALID_IDS: readonly string[] = [
  '9223372036854775808',
  '-9223372036854775809',
  '9223372036854775807.5',
  '92233720368547758080e-1',
  '1e999999999',
  '1e99999999999999999999999999',
  '1e-99999999999999999999999999',
  `1.${'0'.repeat(60_000)}1`,
  '9'.repeat(90_000),
  '"1"',
  'true',
  'null',
  '[1]',
];

/** Bytes that are not UTF-8: one that is never used, a sequence cut short, an encoded surrogate. */
export const INVALID_UTF8: readonly (readonly number[])[] = [
  [0xff],
  [0xe2, 0x82],
  [0xed, 0xa0, 0x80],
];
