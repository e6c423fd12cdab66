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
